// files.cpp - answers requests with the files of a directory.
#include <weft/http/router.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/in_quotes.hpp"
#include "http/beneath.hpp"
#include "http/conditions.hpp"
#include "http/content_type.hpp"
#include "http/field_list.hpp"
#include "http/response_writer.hpp"
#include "http/uri.hpp"

namespace weft::http {
namespace {

// chosen: the server sends a body of this size in one write with its head
constexpr std::uint64_t read_at_once = 16 * 1024;

std::uint64_t nanoseconds(const struct timespec& t) noexcept {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

/// The times are that of the content, which a program may set to anything, and that of the inode
/// (ctime), which the kernel sets: a deployment may give all files one date, and an inode is used
/// again as soon as it is free.
std::string strong_tag(const struct stat& s) {
    std::array<char, 80> room;
    char* at = room.data();
    *at++ = '"';
    for (const std::uint64_t part : {static_cast<std::uint64_t>(s.st_ino), static_cast<std::uint64_t>(s.st_size),
                                     nanoseconds(s.st_mtim), nanoseconds(s.st_ctim)}) {
        at = std::to_chars(at, at + 16, part, 16).ptr;
        *at++ = '-';
    }
    at[-1] = '"';
    return {room.data(), at};
}

std::string read_part(const detail::owned_descriptor& file, detail::byte_range part) {
    std::string text(part.bytes, '\0');
    for (std::size_t done = 0; done < text.size();) {
        const auto n = ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(part.first + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw std::system_error(errno, std::generic_category(), "weft: http: reading a file");
        if (n == 0) throw std::system_error(std::make_error_code(std::errc::io_error), "weft: http: the file is shorter");
        done += static_cast<std::size_t>(n);
    }
    return text;
}

/// What follows the prefix in the path, decoded. Nothing if a name may not be asked for: "..", ".",
/// an empty one except at the end, one with an encoded slash or a zero byte, a hidden one.
std::optional<std::string> relative_path(std::string_view path, std::size_t prefix_segments, bool hidden) {
    for (std::size_t i = 0; i <= prefix_segments; ++i) path.remove_prefix(path.find('/') + 1);
    std::string decoded;
    while (!path.empty()) {
        const auto slash = path.find('/');
        const auto name = detail::percent_decoded(path.substr(0, slash));
        if (!name || name->empty() || *name == "." || *name == ".." || name->find('/') != name->npos ||
            name->find('\0') != name->npos)
            return std::nullopt;
        if (!hidden && name->front() == '.') return std::nullopt;
        decoded += *name;
        if (slash != path.npos) decoded += '/';
        path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
    }
    return decoded;
}

/// A file that is sent, and how it is encoded.
struct chosen_file {
    detail::opened_file file;
    detail::coding coding = detail::coding::identity;
};

class file_server {
public:
    file_server(std::size_t prefix_segments, const std::string& directory, files_options options)
        : prefix_segments_(prefix_segments),
          root_(directory),
          options_(std::move(options)),
          cache_control_(options_.cache.count() == 0 ? "no-cache" : "max-age=" + std::to_string(options_.cache.count())) {}

    response answer(const request& asked) const {
        const auto path = relative_path(asked.path(), prefix_segments_, options_.hidden);
        if (!path) return missing();
        const bool is_folder = path->empty() || path->ends_with('/');
        auto name = is_folder && !path->empty() ? path->substr(0, path->size() - 1) : *path;
        auto found = root_.open(name);
        if (!found) return missing();
        if (S_ISDIR(found->status.st_mode)) {
            if (options_.index.empty()) return missing();
            if (!is_folder) return redirect(asked);
            name = *path + options_.index;
            found = root_.open(name);
        } else if (is_folder) {
            return missing();
        }
        if (!found || !S_ISREG(found->status.st_mode)) return missing();
        return send(asked, name, choose(asked, name, std::move(*found)));
    }

private:
    static response missing() { return text(404, "404 Not Found\n"); }

    /// To the same path with a slash, relative to it, because a proxy may have taken off a prefix.
    response redirect(const request& asked) const {
        const auto path = asked.path();
        auto answer = text(301, "301 Moved Permanently\n");
        const auto query = std::string_view(asked.target()).substr(path.size());
        answer.headers.add("Cache-Control", cache_control_);
        answer.headers.add("Location", "./" + std::string(path.substr(path.rfind('/') + 1)) + "/" + std::string(query));
        return answer;
    }

    /// The file, or the best of the compressed ones beside it that the client takes.
    chosen_file choose(const request& asked, const std::string& name, detail::opened_file plain) const {
        if (!options_.precompressed) return {std::move(plain)};
        const detail::accepted_codings accepted(asked.headers());
        bool may_gzip = true, may_zstd = true;
        for (;;) {
            const auto best = detail::best_of(accepted, may_gzip, may_zstd);
            if (best == detail::coding::identity) return {std::move(plain)};
            auto& may = best == detail::coding::zstd ? may_zstd : may_gzip;
            may = false;
            auto beside = root_.open(name + (best == detail::coding::zstd ? ".zst" : ".gz"));
            // An empty one is being written: no coding makes nothing out of a file.
            if (beside && S_ISREG(beside->status.st_mode) && beside->status.st_size > 0 &&
                beside->status.st_mtim.tv_sec >= plain.status.st_mtim.tv_sec)
                return {std::move(*beside), best};
        }
    }

    response send(const request& asked, const std::string& name, chosen_file chosen) const {
        const auto& status = chosen.file.status;
        const auto now = std::time(nullptr);
        const auto etag = strong_tag(status);
        const detail::validators state{etag, std::min<std::time_t>(status.st_mtim.tv_sec, now)};
        response answer;
        detail::date_room room;
        answer.headers.add("ETag", etag);
        answer.headers.add("Last-Modified", detail::http_date(state.modified, room));
        answer.headers.add("Cache-Control", cache_control_);
        if (options_.precompressed) answer.headers.add("Vary", "Accept-Encoding");
        switch (detail::outcome_of(asked.headers(), state)) {
            case detail::outcome::not_modified: answer.status = 304; return answer;
            case detail::outcome::failed: return text(412, "412 Precondition Failed\n");
            case detail::outcome::go_on: break;
        }
        answer.headers.add("Content-Type", detail::content_type_of(name));
        answer.headers.add("X-Content-Type-Options", "nosniff");
        if (chosen.coding != detail::coding::identity) answer.headers.add("Content-Encoding", detail::name(chosen.coding));
        detail::byte_range part{0, static_cast<std::uint64_t>(status.st_size)};
        if (options_.ranges && !cut(answer, part, asked, state, now)) return answer;
        fill(answer, std::move(chosen.file.descriptor), part);
        return answer;
    }

    /// Makes `part` the part that is asked for. \returns whether there is something to be sent.
    static bool cut(response& answer, detail::byte_range& part, const request& asked, detail::validators state, std::time_t now) {
        answer.headers.add("Accept-Ranges", "bytes");
        if (asked.method() != "GET") return true;
        const auto wanted = detail::wanted_range(asked.headers(), state, part.bytes, now);
        const auto size = std::to_string(part.bytes);
        if (std::holds_alternative<detail::unsatisfiable>(wanted)) {
            answer = text(416, "416 Range Not Satisfiable\n");
            answer.headers.add("Content-Range", "bytes */" + size);
            return false;
        }
        if (const auto* range = std::get_if<detail::byte_range>(&wanted)) {
            part = *range;
            answer.status = 206;
            answer.headers.add("Content-Range", "bytes " + std::to_string(part.first) + "-" +
                                                    std::to_string(part.first + part.bytes - 1) + "/" + size);
        }
        return true;
    }

    /// HEAD gets the same as GET, or middleware would treat the two differently.
    static void fill(response& answer, detail::owned_descriptor file, detail::byte_range part) {
        if (part.bytes <= read_at_once) {
            answer.body = read_part(file, part);
            return;
        }
        answer.stream_length = part.bytes;
        answer.stream = [file = std::make_shared<const detail::owned_descriptor>(std::move(file)), part](body_writer& to) {
            to.write_file(file->get(), part.first, part.bytes);
        };
    }

    std::size_t prefix_segments_;
    detail::beneath root_;
    files_options options_;
    std::string cache_control_;
};

}  // namespace

router& router::files(std::string_view prefix, const std::string& directory, files_options options) {
    while (prefix.ends_with('/')) prefix.remove_suffix(1);
    if (options.index.find('/') != options.index.npos || options.index.find('\0') != options.index.npos ||
        options.index == ".." || options.index == ".")
        throw std::invalid_argument("weft: http: files(): index is the name of a file, not " + detail::in_quotes(options.index));
    if (options.cache.count() < 0) throw std::invalid_argument("weft: http: files(): cache is negative");
    const auto segments = static_cast<std::size_t>(std::count(prefix.begin(), prefix.end(), '/'));
    const auto server = std::make_shared<const file_server>(segments, directory, std::move(options));
    return get(std::string(prefix) + "/{path...}", [server](const request& asked) { return server->answer(asked); });
}

}  // namespace weft::http
