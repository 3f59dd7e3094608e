// codec.cpp - the reader and formatter of hiredis (0.14 and 1.x), building redis::value directly.
#include "redis/codec.hpp"

#include <hiredis.h>

#include <new>
#include <vector>

#include <weft/redis/error.hpp>

namespace weft::detail::redis {

using weft::redis::array;
using weft::redis::error_reply;
using weft::redis::status;
using weft::redis::value;

/// Where the current reply is built. hiredis passes the addresses of values back as parents. The
/// parent of an unfinished element is not touched until that element is complete, so these
/// addresses stay valid.
struct decoder::target {
    value root;
    const char* refusal = nullptr;  // why a callback returned null

    // required: hiredis 0.14 supports 7 levels, 1.x any depth; a value's destructor recurses on a
    // fiber's stack
    static constexpr int max_depth = 7;

    static target& of(const redisReadTask* task) { return *static_cast<target*>(task->privdata); }

    /// No exception may pass through the C library: a failed allocation becomes the null it
    /// expects.
    template <class Make>
    static void* place(const redisReadTask* task, Make make) noexcept {
        try {
            value::variant made = make();
            if (!task->parent) return &(of(task).root = value(std::move(made)));
            auto& siblings = std::get<array>(static_cast<value*>(task->parent->obj)->content());
            return &siblings.emplace_back(std::move(made));
        } catch (const std::bad_alloc&) {
            of(task).refusal = "out of memory";
            return nullptr;
        }
    }

    static void* text(const redisReadTask* task, char* from, std::size_t size) {
        return place(task, [&]() -> value::variant {
            std::string copy(from, size);
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
            of(task).refusal = "arrays nested too deeply";
            return nullptr;
        }
        return place(task, [] { return array{}; });
    }

    static void* integer(const redisReadTask* task, long long number) {
        return place(task, [&] { return std::int64_t{number}; });
    }

    static void* nothing(const redisReadTask* task) {
        return place(task, [] { return weft::redis::nil{}; });
    }

    static void* refuse_resp3(const redisReadTask* task) {
        of(task).refusal = "a RESP3 reply that was not asked for";
        return nullptr;
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
        if constexpr (requires { f.createDouble; f.createBool; }) {
            f.createDouble = [](const redisReadTask* t, double, char*, std::size_t) { return refuse_resp3(t); };
            f.createBool = [](const redisReadTask* t, int) { return refuse_resp3(t); };
        }
        return f;
    }
};

decoder::decoder(std::size_t max_reply_bytes)
    : target_(std::make_unique<target>()), reader_(nullptr, redisReaderFree), max_reply_bytes_(max_reply_bytes) {
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
    unfinished_bytes_ = 0;
    return std::move(target_->root);
}

void decoder::fail() {
    throw std::runtime_error(std::string("the server broke the protocol: ") +
                             (target_->refusal ? target_->refusal : reader_->errstr));
}

void append_command(std::string& to, std::span<const weft::redis::argument> words) {
    // required: a server's default limit for one string (proto-max-bulk-len)
    constexpr std::size_t longest = std::size_t{512} << 20;
    // chosen: most commands have few words; longer ones allocate
    constexpr std::size_t few = 8;

    const char* few_texts[few];
    std::size_t few_sizes[few];
    std::vector<const char*> many_texts;
    std::vector<std::size_t> many_sizes;
    const char** texts = few_texts;
    std::size_t* sizes = few_sizes;
    if (words.size() > few) {
        many_texts.resize(words.size());
        many_sizes.resize(words.size());
        texts = many_texts.data();
        sizes = many_sizes.data();
    }
    std::size_t total = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        texts[i] = words[i].view().data();
        sizes[i] = words[i].view().size();
        total += sizes[i];
        if (sizes[i] > longest || total > longest || i >= longest / 16)
            throw weft::redis::error(weft::redis::error_kind::refused, "redis: the command is longer than 512 MiB");
    }
    char* line = nullptr;
    const auto length = redisFormatCommandArgv(&line, static_cast<int>(words.size()), texts, sizes);
    if (length < 0) throw std::bad_alloc();
    const std::unique_ptr<char, void (*)(char*)> owned(line, redisFreeCommand);
    to.append(line, static_cast<std::size_t>(length));
}

}  // namespace weft::detail::redis
