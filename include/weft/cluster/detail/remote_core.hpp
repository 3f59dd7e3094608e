// remote_core.hpp - a node as the typed references see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/channel.hpp>
#include <weft/cluster/error.hpp>
#include <weft/cluster/name_lease.hpp>
#include <weft/cluster/wire.hpp>
#include <weft/detail/actor_program.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/exit_reason.hpp>
#include <weft/supervisor.hpp>

namespace weft::cluster::detail {

class node_core;
}  // namespace weft::cluster::detail

namespace weft::cluster {
class inbox;
class node;
struct carried;
}  // namespace weft::cluster

namespace weft::cluster::detail {

/// Where the answer to a remote ask goes. Destroyed without an answer, it tells the asker so.
class WEFT_EXPORT answer_path {
public:
    virtual ~answer_path() = default;
    /// Whether the asker has given up.
    virtual bool is_late() const noexcept = 0;
    virtual void answer(std::span<const std::byte> bytes, std::uint32_t version) noexcept = 0;
    virtual void fail(errc why, std::string_view text) noexcept = 0;
};

/// Fails with the text of the exception that is being handled.
WEFT_EXPORT void fail_with_current(answer_path&) noexcept;

/// A message M for a class actor A, from another node. `answer_` is null for a send.
template <class A, class M>
class remote_message final : public weft::detail::plain_message<M> {
public:
    remote_message(M&& m, std::unique_ptr<answer_path> to, std::uint32_t version)
        : weft::detail::plain_message<M>(std::move(m)), answer_(std::move(to)), version_(version) {}

    void handle(void* actor, weft::detail::actor_core&) override {
        A& a = *static_cast<A*>(actor);
        if (!answer_) {
            a.handle(std::move(this->value_));
            return handled(a);
        }
        if (answer_->is_late()) return answer_->fail(errc::expired, "the asker has given up");
        try {
            const auto bytes = call(a);
            handled(a);
            answer_->answer(bytes, version_);
        } catch (const cancelled&) {  // it is killed: the end of answer_ tells
            throw;
        } catch (...) {
            fail_with_current(*answer_);
            throw;
        }
    }

private:
    /// A placed actor makes its checkpoints here.
    static void handled(A& a) {
        if constexpr (requires { a.weft_handled(); }) a.weft_handled();
    }
    std::vector<std::byte> call(A& a) {
        using R = weft::detail::reply_of<A, M>;
        std::vector<std::byte> bytes;
        if constexpr (std::is_void_v<R>) {
            a.handle(std::move(this->value_));
        } else {
            const R result = a.handle(std::move(this->value_));
            wire_format<R>::write(result, version_, bytes);
        }
        return bytes;
    }

    std::unique_ptr<answer_path> answer_;
    const std::uint32_t version_;
};

/// One message that an actor takes from other nodes.
struct wire_entry {
    std::uint64_t number;
    std::string_view name;
    wire_versions versions;
    /// \throws what the format throws for bytes that are no such message; `to` is taken only if it does not
    ///         throw
    std::unique_ptr<weft::detail::message> (*make)(std::span<const std::byte>, std::uint32_t version,
                                                   std::unique_ptr<answer_path>& to);
};

template <class A, class M>
std::unique_ptr<weft::detail::message> make_remote_message(std::span<const std::byte> bytes, std::uint32_t version,
                                                           std::unique_ptr<answer_path>& to) {
    auto value = wire_format<M>::read(bytes, version);
    return std::make_unique<remote_message<A, M>>(std::move(value), std::move(to), version);
}

template <class A, class List>
struct wire_table;
template <class A, class... Ms>
struct wire_table<A, messages<Ms...>> {
    static_assert(sizeof...(Ms) > 0, "weft::cluster: `remote` lists no message");
    static_assert((weft::detail::handles<A, Ms> && ...),
                  "weft::cluster: `remote` lists a message for which the actor has no handler");
    static_assert(have_different_numbers<Ms...>(), "weft::cluster: two messages have names with one number: rename one");
    static constexpr wire_entry entries[] = {
        {wire_number_of<Ms>, wire_name<Ms>::name, wire_name<Ms>::versions, &make_remote_message<A, Ms>}...};
    template <class M>
    static constexpr bool lists = (std::is_same_v<M, Ms> || ...);
};
template <class A>
using wire_table_of = wire_table<A, typename A::remote>;
/// Whether M may be sent to an actor A on another node.
template <class A, class M>
concept remotely_takes = wire_table_of<A>::template lists<std::decay_t<M>>;

/// Which actor: where it lives, its number there, and by which name.
struct remote_address {
    std::string node;
    std::uint64_t incarnation = 0;
    std::uint64_t serial = 0;
    std::uint64_t token = 0;  ///< of the name by which it was found, if by one: it takes messages as long as it has that name
    /// Whether it is the same actor.
    friend bool operator==(const remote_address& a, const remote_address& b) noexcept {
        return a.node == b.node && a.incarnation == b.incarnation && a.serial == b.serial;
    }
};

/// A message on its way out.
struct outgoing {
    std::uint64_t number;
    std::string_view name;
    wire_versions versions;
    const void* value;
    void (*write)(const void* value, std::uint32_t version, std::vector<std::byte>& into);

    template <class M>
    static outgoing of(const M& m) {
        return {wire_number_of<M>, wire_name<M>::name, wire_name<M>::versions, &m,
                [](const void* message, std::uint32_t version, std::vector<std::byte>& into) {
                    wire_format<M>::write(*static_cast<const M*>(message), version, into);
                }};
    }
};

struct remote_answer {
    std::vector<std::byte> bytes;
    std::uint32_t version = 0;
};

/// \throws error (bad_message), which says that the message may have been handled
template <class R>
R read_answer(const remote_answer& a) {
    try {
        return wire_format<R>::read(a.bytes, a.version);
    } catch (const std::exception& e) {
        throw error(errc::bad_message, std::string("weft: the answer cannot be read: ") + e.what(), true);
    }
}

WEFT_EXPORT void remote_send(node_core&, const remote_address&, const outgoing&,
                             weft::detail::time_point until = weft::detail::never);
WEFT_EXPORT remote_answer remote_ask(node_core&, const remote_address&, const outgoing&, weft::detail::time_point until);
WEFT_EXPORT receiver<exit_reason> remote_monitor(node_core&, const remote_address&);
WEFT_EXPORT void remote_link(node_core&, weft::detail::linkable& here, const remote_address&);
WEFT_EXPORT void remote_unlink(node_core&, weft::detail::linkable& here, const remote_address&) noexcept;

WEFT_EXPORT remote_address expose(node_core&, weft::detail::actor_core_ref, std::span<const wire_entry>);
WEFT_EXPORT void unexpose(node_core&, const remote_address&) noexcept;
WEFT_EXPORT remote_address find(node_core&, std::string_view node, std::string_view actor, std::span<const wire_entry>,
                                weft::detail::time_point until);

WEFT_EXPORT void join_group(node_core&, std::string_view group, const remote_address&);
WEFT_EXPORT void leave_group(node_core&, std::string_view group, const remote_address&) noexcept;
WEFT_EXPORT void group_send(node_core&, std::string_view group, const outgoing&);
WEFT_EXPORT remote_answer group_ask(node_core&, std::string_view group, const outgoing&, weft::detail::time_point until);

/// A value that came by a topic.
struct topic_bytes {
    std::uint64_t number;
    std::uint32_t version;
    std::span<const std::byte> payload;  // in the message
};
WEFT_EXPORT std::optional<topic_bytes> read_topic(const carried&) noexcept;
WEFT_EXPORT void topic_publish(node_core&, std::string_view topic, const outgoing&);
WEFT_EXPORT std::shared_ptr<inbox> topic_subscribe(node_core&, std::string_view topic);

/// \throws error (closed) if the node was moved from
WEFT_EXPORT const std::shared_ptr<node_core>& core_of(const node&);

WEFT_EXPORT std::optional<name_lease> claim_name(node_core&, std::string_view name, const remote_address&);
WEFT_EXPORT remote_address find_name(node_core&, std::string_view name);

}  // namespace weft::cluster::detail
