// content_type.cpp - the table of types.
#include "http/content_type.hpp"

#include <algorithm>
#include <array>

#include "http/ascii.hpp"
#include "http/field_list.hpp"

namespace weft::detail {
namespace {

struct entry {
    std::string_view extension;
    std::string_view type;
};

// chosen: what pages are made of; sorted by extension
constexpr std::array types = {
    entry{"7z", "application/x-7z-compressed"},
    entry{"aac", "audio/aac"},
    entry{"apng", "image/apng"},
    entry{"avif", "image/avif"},
    entry{"bmp", "image/bmp"},
    entry{"bz2", "application/x-bzip2"},
    entry{"css", "text/css; charset=utf-8"},
    entry{"csv", "text/csv; charset=utf-8"},
    entry{"flac", "audio/flac"},
    entry{"gif", "image/gif"},
    entry{"gz", "application/gzip"},
    entry{"htm", "text/html; charset=utf-8"},
    entry{"html", "text/html; charset=utf-8"},
    entry{"ico", "image/vnd.microsoft.icon"},
    entry{"ics", "text/calendar; charset=utf-8"},
    entry{"jpeg", "image/jpeg"},
    entry{"jpg", "image/jpeg"},
    entry{"js", "text/javascript; charset=utf-8"},
    entry{"json", "application/json"},
    entry{"m4a", "audio/mp4"},
    entry{"map", "application/json"},
    entry{"md", "text/markdown; charset=utf-8"},
    entry{"mjs", "text/javascript; charset=utf-8"},
    entry{"mp3", "audio/mpeg"},
    entry{"mp4", "video/mp4"},
    entry{"oga", "audio/ogg"},
    entry{"ogg", "audio/ogg"},
    entry{"ogv", "video/ogg"},
    entry{"opus", "audio/ogg"},
    entry{"otf", "font/otf"},
    entry{"pdf", "application/pdf"},
    entry{"png", "image/png"},
    entry{"rtf", "application/rtf"},
    entry{"svg", "image/svg+xml"},
    entry{"tar", "application/x-tar"},
    entry{"ttf", "font/ttf"},
    entry{"txt", "text/plain; charset=utf-8"},
    entry{"wasm", "application/wasm"},
    entry{"wav", "audio/wav"},
    entry{"webm", "video/webm"},
    entry{"webmanifest", "application/manifest+json"},
    entry{"webp", "image/webp"},
    entry{"woff", "font/woff"},
    entry{"woff2", "font/woff2"},
    entry{"xhtml", "application/xhtml+xml"},
    entry{"xml", "application/xml"},
    entry{"xz", "application/x-xz"},
    entry{"zip", "application/zip"},
    entry{"zst", "application/zstd"},
};

constexpr bool before(const entry& a, const entry& b) noexcept { return a.extension < b.extension; }
static_assert(std::is_sorted(types.begin(), types.end(), before));

constexpr std::size_t longest_extension = 11;

// Bytes of which nothing is known (application/octet-stream) are mostly archives and pictures.
constexpr std::array<std::string_view, 18> compressed = {"application/gzip",
                                                         "application/octet-stream",
                                                         "application/x-gzip",
                                                         "application/zip",
                                                         "application/zstd",
                                                         "application/x-7z-compressed",
                                                         "application/x-bzip2",
                                                         "application/x-xz",
                                                         "application/pdf",
                                                         "font/woff",
                                                         "font/woff2",
                                                         "application/font-woff",
                                                         "application/x-rar-compressed",
                                                         "application/vnd.rar",
                                                         "application/java-archive",
                                                         "application/epub+zip",
                                                         "application/x-brotli",
                                                         "application/vnd.android.package-archive"};

// Pictures and sound that are stored as they are.
constexpr std::array<std::string_view, 6> plain_media = {"image/svg+xml", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon",
                                                         "audio/wav",     "audio/midi"};

}  // namespace

std::string_view content_type_of(std::string_view file_name) noexcept {
    constexpr std::string_view unknown = "application/octet-stream";
    const auto dot = file_name.rfind('.');
    if (dot == file_name.npos || file_name.size() - dot - 1 > longest_extension) return unknown;
    std::array<char, longest_extension> room;
    const auto extension = file_name.substr(dot + 1);
    std::transform(extension.begin(), extension.end(), room.begin(), lower);
    const entry wanted{std::string_view(room.data(), extension.size()), {}};
    const auto found = std::lower_bound(types.begin(), types.end(), wanted, before);
    return found != types.end() && found->extension == wanted.extension ? found->type : unknown;
}

bool is_compressible(std::string_view content_type) noexcept {
    const auto type = take_until(content_type, ';');
    const auto is_it = [&](std::string_view other) { return equal_ignoring_case(type, other); };
    const auto begins = [&](std::string_view word) { return equal_ignoring_case(type.substr(0, word.size()), word); };
    if (type.empty() || std::any_of(compressed.begin(), compressed.end(), is_it)) return false;
    if (begins("image/") || begins("audio/") || begins("video/"))
        return std::any_of(plain_media.begin(), plain_media.end(), is_it);
    return true;
}

}  // namespace weft::detail
