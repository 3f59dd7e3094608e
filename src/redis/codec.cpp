// codec.cpp - the reader of hiredis (0.14 and 1.x), which builds redis::value directly, and the writer of
// commands.
#include "redis/codec.hpp"

#include <hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <stdexcept>
#include <vector>

#include <weft/redis/error.hpp>

namespace weft::detail::redis {

using weft::redis::array;
using weft::redis::error_reply;
using weft::redis::status;
using weft::redis::value;

namespace {

// Types of replies that hiredis 0.14 has no names for. The numbers are those of 1.x.
enum resp3_type : int {
    map_type = 9,
    set_type = 10,
    attribute_type = 11,
    push_type = 12,
    big_number_type = 13,
    verbatim_type = 14
};
#ifdef REDIS_REPLY_VERB
// required: 1.0 has these names, but takes a big number for an error of the protocol
constexpr bool knows_resp3 = HIREDIS_MAJOR > 1 || HIREDIS_MINOR >= 1;
static_assert(map_type == REDIS_REPLY_MAP && set_type == REDIS_REPLY_SET && attribute_type == REDIS_REPLY_ATTR &&
              push_type == REDIS_REPLY_PUSH && big_number_type == REDIS_REPLY_BIGNUM && verbatim_type == REDIS_REPLY_VERB);
#else
constexpr bool knows_resp3 = false;
#endif

constexpr const char* not_asked_for = "a RESP3 reply that was not asked for";

}  // namespace

void require_resp3() {
    if (!knows_resp3)
        throw std::invalid_argument("redis: client_options::protocol 3 needs hiredis 1.1 or later; weft was built with hiredis " +
                                    std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) +
                                    ", which knows protocol 2 only");
}

/// Where the current reply is built. hiredis passes the addresses of values back as parents. The
/// parent of an unfinished element is not touched until that element is complete, so these
/// addresses stay valid.
struct decoder::target {
    target(resp p, std::size_t most) noexcept : protocol(p), most_values(most) {}

    const resp protocol;
    const std::size_t most_values;
    value root;
    std::size_t values = 0;  // in the root so far
    const char* refusal = nullptr;  // why a callback returned null
    bool is_too_deep = false, is_too_much = false;

    // required: hiredis 0.14 and 1.0 support 7 levels, later ones any depth
    // chosen: more than a server sends by itself; a value's destructor recurses on a fiber's stack
    static constexpr int max_depth = knows_resp3 ? 32 : 7;

    static target& of(const redisReadTask* task) { return *static_cast<target*>(task->privdata); }

    /// No exception may pass through the C library: a failed allocation becomes the null it
    /// expects.
    template <class Make>
    static void* place(const redisReadTask* task, Make make) noexcept {
        try {
            if (++of(task).values > of(task).most_values) {
                of(task).is_too_much = true;
                return nullptr;
            }
            value::variant made = make();
            if (!task->parent) return &(of(task).root = value(std::move(made)));
            return &append(static_cast<value*>(task->parent->obj)->content(), task->idx, value(std::move(made)));
        } catch (const std::bad_alloc&) {
            of(task).refusal = "out of memory";
            return nullptr;
        }
    }

    /// Adds an element to an array or a set; to a map a name, or what the last name stands for.
    static value& append(value::variant& parent, int index, value made) {
        if (auto* const group = std::get_if<weft::redis::set>(&parent)) return group->members.emplace_back(std::move(made));
        auto* const all = std::get_if<weft::redis::map>(&parent);
        if (!all) return std::get<array>(parent).emplace_back(std::move(made));
        if (index % 2 == 0) return all->emplace_back(std::move(made), value()).first;
        return all->back().second = std::move(made);
    }

    static void* text(const redisReadTask* task, char* from, std::size_t size) {
        if (task->type == verbatim_type || task->type == big_number_type) {
            if (of(task).protocol == resp::two) return refuse(task, not_asked_for);
        }
        return place(task, [&]() -> value::variant {
            if (task->type == verbatim_type)  // "txt:" and the text; the reader has checked the colon
                return weft::redis::verbatim{std::string(from, 3), std::string(from + 4, size - 4)};
            std::string copy(from, size);
            if (task->type == big_number_type) return weft::redis::big_number{std::move(copy)};
            if (task->type == REDIS_REPLY_STATUS) return status{std::move(copy)};
            if (task->type == REDIS_REPLY_ERROR) return error_reply{std::move(copy)};
            return copy;
        });
    }

    // Count is int in hiredis 0.14 and size_t in 1.x. No memory is reserved for it (CODEC-2).
    template <class Count>
    static void* list(const redisReadTask* task, Count) {
        int depth = 1;
        for (auto* up = task->parent; up; up = up->parent) ++depth;
        if (depth > max_depth) {
            of(task).is_too_deep = true;
            return nullptr;
        }
        if (task->type == REDIS_REPLY_ARRAY) return place(task, [] { return array{}; });
        if (of(task).protocol == resp::two) return refuse(task, not_asked_for);
        if (task->type == map_type) return place(task, [] { return weft::redis::map{}; });
        if (task->type == set_type) return place(task, [] { return weft::redis::set{}; });
        return refuse(task, task->type == push_type ? "a push message that was not asked for" : "attributes of a reply");
    }

    static void* integer(const redisReadTask* task, long long number) {
        return place(task, [&] { return std::int64_t{number}; });
    }

    static void* nothing(const redisReadTask* task) {
        return place(task, [] { return weft::redis::nil{}; });
    }

    static void* refuse(const redisReadTask* task, const char* reason) noexcept {
        of(task).refusal = reason;
        return nullptr;
    }

    static void* real(const redisReadTask* task, double number, char*, std::size_t) {
        if (of(task).protocol == resp::two) return refuse(task, not_asked_for);
        return place(task, [&] { return number; });
    }

    static void* truth(const redisReadTask* task, int is_true) {
        if (of(task).protocol == resp::two) return refuse(task, not_asked_for);
        return place(task, [&] { return is_true != 0; });
    }

    // A template, so that members which hiredis 0.14 lacks are named only where they exist.
    template <class Functions>
    static Functions functions() {
        Functions f{};
        f.createString = text;
        f.createArray = list;
        f.createInteger = integer;
        f.createNil = nothing;
        f.freeObject = [](void*) {};  // the decoder owns the root
        if constexpr (requires {
                          f.createDouble;
                          f.createBool;
                      }) {
            f.createDouble = real;
            f.createBool = truth;
        }
        return f;
    }
};

decoder::decoder(std::size_t max_reply_bytes, resp protocol)
    : target_(std::make_unique<target>(protocol, max_reply_bytes / sizeof(value))),
      reader_(nullptr, redisReaderFree),
      lines_(protocol),
      max_reply_bytes_(max_reply_bytes) {
    if (protocol == resp::three) require_resp3();
    static auto functions = target::functions<redisReplyObjectFunctions>();
    reader_.reset(redisReaderCreateWithFunctions(&functions));
    if (!reader_) throw std::bad_alloc();
    reader_->privdata = target_.get();  // the library's macro for this does not compile as C++
}

decoder::~decoder() = default;

void decoder::feed(std::span<const std::byte> bytes) {
    unfinished_bytes_ += bytes.size();
    lines_.pass({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, [this](std::string_view whole) {
        if (redisReaderFeed(reader_.get(), whole.data(), whole.size()) != REDIS_OK) fail();
    });
}

static_assert(line_guard::max_line == 65536, "the message of next() names it");

std::optional<value> decoder::next() {
    void* complete = nullptr;
    if (redisReaderGetReply(reader_.get(), &complete) != REDIS_OK) fail();
    if (!complete) {
        if (lines_.refused()) {
            target_->refusal = "a line is longer than 65536 bytes";
            fail();
        }
        if (unfinished_bytes_ > max_reply_bytes_)
            throw std::runtime_error("a reply is longer than " + std::to_string(max_reply_bytes_) + " bytes");
        return std::nullopt;
    }
    target_->values = 0;
    unfinished_bytes_ = reader_->len - reader_->pos + lines_.held();
    return std::move(target_->root);
}

void decoder::fail() {
    if (target_->is_too_deep)
        throw std::runtime_error("a reply is nested more than " + std::to_string(target::max_depth) + " deep" +
                                 (knows_resp3 ? "" : ", which hiredis can read since 1.1 only"));
    if (target_->is_too_much)
        throw std::runtime_error("a reply of " + std::to_string(target_->values) + " values takes more than " +
                                 std::to_string(max_reply_bytes_) + " bytes");
    throw std::runtime_error(std::string("the server broke the protocol: ") +
                             (target_->refusal ? target_->refusal : reader_->errstr));
}

void check_length(std::span<const weft::redis::argument> words) {
    // required: a server's default limit for one string (proto-max-bulk-len)
    constexpr std::size_t longest = std::size_t{512} << 20;
    std::size_t total = 0;
    for (const auto& w : words) {
        const std::size_t size = w.view().size();
        if (words.size() > longest / 16 || size > longest || (total += size) > longest)
            throw weft::redis::error(weft::redis::error_kind::refused, "redis: the command is longer than 512 MiB");
    }
}

// hiredis could do this, but by printf: it took a fifth of the instructions of a request with one command.
void append_command(std::string& to, std::span<const weft::redis::argument> words) {
    check_length(words);
    // the longest number, its mark and the line end
    constexpr std::size_t around = 24;
    std::size_t room = around;
    for (const auto& w : words) room += around + w.view().size() + 2;
    if (to.capacity() - to.size() < room) to.reserve(std::max(to.size() + room, 2 * to.capacity()));
    const auto append_number = [&](char mark, std::size_t n) {
        std::array<char, around> text;
        text[0] = mark;
        auto* end = std::to_chars(&text[1], text.data() + text.size() - 2, n).ptr;
        *end++ = '\r';
        *end++ = '\n';
        to.append(text.data(), static_cast<std::size_t>(end - text.data()));
    };
    append_number('*', words.size());
    for (const auto& w : words) {
        append_number('$', w.view().size());
        to.append(w.view()).append("\r\n");
    }
}

}  // namespace weft::detail::redis
