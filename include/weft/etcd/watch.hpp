// watch.hpp - what happens to keys of etcd, as a channel of events.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>

#include <weft/channel.hpp>
#include <weft/detail/export.hpp>
#include <weft/etcd/kv.hpp>

namespace weft::etcd {

struct watch_options {
    /// The first revision whose events are told, which may lie in the past; 0: what happens from now on.
    revision_number from_revision = 0;
    bool prev_kv = false;  ///< whether events have what was there before
    /// Whether the server tells its revision from time to time though nothing happens, so that a new
    /// connection asks from there, and not from a revision that has been compacted meanwhile.
    bool progress = true;
    /// Events that wait for the receiver. When they are so many, nothing more is read from the server.
    std::size_t capacity = 64;
};

enum class event_kind {
    put,
    remove,
    /// The revisions that would come next are no longer stored. `revision` is the oldest one that can be
    /// watched from; list the keys, and watch from behind that list. It is the last event.
    compacted,
};

struct event {
    event_kind kind = event_kind::put;
    key_value kv = {};  ///< of a removed key: key and mod_revision only
    std::optional<key_value> previous = {};
    revision_number revision = 0;
};

/// Receives each event of its keys once, in the order of revisions, also over the loss of its connection or
/// server: it connects again by itself, to the next endpoint, and asks from behind the last event.
///
///     auto changes = db.watch(weft::etcd::key_range::prefix("users/"));
///     for (const weft::etcd::event& e : changes.events()) show(e);
///
/// The receiver is a case of a select: `weft::on_receive(changes.events(), f)`. It ends behind `compacted`,
/// and when the server refuses the watch; failure() then has the reason. Destruction ends the watch.
class WEFT_EXPORT watcher {
public:
    watcher(watcher&&) noexcept;
    watcher& operator=(watcher&&) noexcept;
    ~watcher();

    /// \lifetime  of the reference: that of the watcher.
    [[nodiscard]] const receiver<event>& events() const noexcept;
    std::optional<event> receive() const { return events().receive(); }
    /// Why the events have ended: an etcd::error. Null while they go on, and after `compacted`.
    [[nodiscard]] std::exception_ptr failure() const noexcept;
    /// The revision from which a watch would have to go on where this one ends: what comes next is not older.
    [[nodiscard]] revision_number next_revision() const noexcept;

private:
    friend class client;
    struct impl;
    explicit watcher(std::unique_ptr<impl>) noexcept;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::etcd
