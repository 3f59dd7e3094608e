# Copies a file of src/ for the model tests, with changes that each break it in one place and that a test has in force or not
# (options::mutant). Without one the copy does what the file does, line by line.
#
# Run as: cmake -D SOURCE=(path in the project) -D ROOT=(of the project) -D COPY=(where to) -P mutants.cmake
file(READ "${ROOT}/${SOURCE}" text)

# `old` is there once; `new` asks mutant("name"). A change of the source that moves the place shows here.
function(mutate old new)
    string(FIND "${text}" "${old}" first)
    string(FIND "${text}" "${old}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "tests/model/mutants.cmake: this is not in ${SOURCE} once, mutate another place: ${old}")
    endif()
    string(REPLACE "${old}" "${new}" changed "${text}")
    set(text "${changed}" PARENT_SCOPE)
endfunction()

# As if the statement were not there.
macro(leave_out name statement)
    mutate("${statement}" "if (!::model::mutant(\"${name}\")) ${statement}")
endmacro()

if(SOURCE STREQUAL "src/sync/select.cpp")
    leave_out("SELECT-1" [[std::ranges::sort(by_address_, std::less<>(), &select_entry::channel);]])
    mutate([[if (e->channel != std::exchange(locked, e->channel)) e->channel->lock().lock();]]
           [[if (e->channel != std::exchange(locked, e->channel) || ::model::mutant("SELECT-1 once")) e->channel->lock().lock();]])
    mutate([[        wait w({.kind = has_watches_]]
           [[        if (::model::mutant("SELECT-2")) unlock_all(), lock_all(); wait w({.kind = has_watches_]])
    leave_out("SELECT-4" [[unlink_all();  // SELECT-4]])
    mutate([[ended_already = !e.fiber->life.await();]]
           [[ended_already = !e.fiber->life.await() && !::model::mutant("SELECT-5");]])
    mutate([[!e.watch->enlist(*me) && me->claim()]] [[!e.watch->enlist(*me) && !::model::mutant("SELECT-6 event") && me->claim()]])
    mutate([[if (e.kind == select_kind::watch) return std::nullopt;  // SELECT-6]]
           [[if (e.kind == select_kind::watch && !::model::mutant("SELECT-6 look")) return std::nullopt;]])
    leave_out("SELECT-7" [[e.watch->open();]])
    mutate([[&& operate_now(entries[first])) return first;]]
           [[&& (operate_now(entries[first]) || ::model::mutant("SELECT-8"))) return first;]])
elseif(SOURCE STREQUAL "src/sync/mutex.cpp")
    leave_out("MUTEX-3" [[next->handed_over = true;]])
    mutate([[        s.lock.unlock();
    } while (!give_free(s, self));]] [[        if (::model::mutant("MUTEX-4") && give_free(s, self)) return s.lock.unlock();
        s.lock.unlock();
        if (::model::mutant("MUTEX-5 last look")) return s.word.store(0, release);
    } while (!give_free(s, self));]])
    mutate([[(seen & crowded) != 0 ||]] [[(seen & crowded) != 0 || ::model::mutant("MUTEX-5 queue") ||]])
    mutate([[owned_by(self) | crowded_if_waited_for(s), acquire]]
           [[owned_by(self) | (::model::mutant("MUTEX-5 take") ? 0 : crowded_if_waited_for(s)), acquire]])
    mutate([[owned_by(next->cell()) | crowded_if_waited_for(s)]]
           [[owned_by(next->cell()) | (::model::mutant("MUTEX-5 hand over") ? 0 : crowded_if_waited_for(s))]])
elseif(SOURCE STREQUAL "src/sync/parking_lot.cpp")
    mutate([[        me.publish(w, was_overtaken);
        fence(seq_cst);  // pairs with is_counted_after_release() (PARKING_LOT-2)
        const int before = attempt(what);]] [[        if (!::model::mutant("PARKING_LOT-2 place")) me.publish(w, was_overtaken);
        fence(seq_cst);
        const int before = attempt(what);
        if (::model::mutant("PARKING_LOT-2 place")) me.publish(w, was_overtaken);]])
    leave_out("PARKING_LOT-3" [[wake_oldest(p.address);  // PARKING_LOT-3]])
    mutate([[    me.publish(w);
    give_up(what);  // PARKING_LOT-6]] [[    if (!::model::mutant("PARKING_LOT-6")) me.publish(w);
    give_up(what);
    if (::model::mutant("PARKING_LOT-6")) me.publish(w);]])
    leave_out("PARKING_LOT-2 count" [[lot.parked_.fetch_add(1, relaxed);  // PARKING_LOT-2: ordered by the fence before the attempt]])
elseif(SOURCE STREQUAL "src/actor/mailbox.cpp")
    mutate([[if (!r || !r->any) append(m);]] [[if (!r || (!r->any && !::model::mutant("MAILBOX-1"))) append(m);]])
    mutate([[oldest_ && oldest_ == cursor_ ?]] [[oldest_ && oldest_ == cursor_ && !::model::mutant("MAILBOX-2") ?]])
    leave_out("MAILBOX-3 close" [[claim_all(senders_, claimed);]])
    leave_out("MAILBOX-3 reserved" [[admit_senders(claimed);  // MAILBOX-3]])
    mutate([[doors_ = doors::closed;
    receiving* const r = claim_receiver(nullptr);]] [[doors_ = doors::closed;
    receiving* const r = ::model::mutant("MAILBOX-4 close") ? nullptr : claim_receiver(nullptr);]])
    mutate([[oldest_ || doors_ != doors::open ? claim_receiver]]
           [[(oldest_ || doors_ != doors::open) && !::model::mutant("MAILBOX-4 reserved") ? claim_receiver]])
    leave_out("MAILBOX-5" [[if (!me.accepted) m.reset(me.mine);]])
elseif(SOURCE STREQUAL "src/actor/mailbox_receive.cpp")
    leave_out("MAILBOX-3 take" [[if (!senders_.empty()) admit_senders(claimed);]])
    leave_out("MAILBOX-6" [[look.unlock();
                const bool]])
elseif(SOURCE STREQUAL "src/sync/cell.cpp")
    leave_out("CELL_STATE-1" [[if (delivering) return lock.unlock();]])
    leave_out("CELL_STATE-2" [[s.announce_to_readers(now);]])
    leave_out("end" [[s.wake_readers();]])
elseif(SOURCE STREQUAL "src/sync/cell_graph.cpp")
    leave_out("CELL_STATE-3 before" [[announce(v.at);]])
    leave_out("CELL_STATE-5" [[c.drop(c.pending.front());]])
    leave_out("CELL_STATE-7" [[who->wait_is_over();]])
elseif(SOURCE STREQUAL "src/sync/cell_read.cpp")
    mutate([[const auto& v = reader ? state_->version_at]]
           [[const auto& v = reader && !::model::mutant("CELL_STATE-4") ? state_->version_at]])
    mutate([[            reader->link(*state_);
            reader->is_late]] [[            if (!::model::mutant("CELL_STATE-3")) reader->link(*state_);
            reader->is_late]])
    leave_out("CELL_STATE-6" [[break_outdated_circle(*reader);]])
elseif(SOURCE STREQUAL "src/sync/channel_core.cpp")
    mutate([[buffer_.is_overfull() ?]] [[buffer_.is_overfull() && !::model::mutant("CHANNEL_BUFFER-1") ?]])
elseif(SOURCE STREQUAL "src/sync/dataflow.cpp")
    mutate([[closes = c == me_;]] [[closes = c == me_ && !::model::mutant("DATAFLOW-1");]])
elseif(SOURCE STREQUAL "python/src/weft/_gate.h")
    leave_out("GATE-1 wake" [[if (stuck) gate_event_set(&first->wake);]])
    leave_out("GATE-1 asks" [[if (stuck) first->asks = 1;]])
    leave_out("GATE-1 grant" [[if (first) gate_event_set(&first->wake);]])
    mutate([[gate.owner = me; /*]] [[if (!me->asks || !::model::mutant("GATE-1 owner")) gate.owner = me; /*]])
    mutate([[        if (granted) continue;
]] [[        if (granted && !::model::mutant("GATE-2 pop")) continue;
]])
    mutate([[if (!me->granted) gate_pop(); /*]]
           [[if ((!me->granted || ::model::mutant("GATE-2 pop")) && !::model::mutant("GATE-2 stays")) gate_pop(); /*]])
    leave_out("GATE-4 granted" [[me->granted = 0;]])
    leave_out("GATE-4 asks" [[me->asks = 0;]])
    leave_out("GATE-5" [[if (gate_load(&gate.watch_sleeps, GATE_SEQ_CST)) gate_wake_watch();]])
endif()

get_filename_component(folder "${COPY}" DIRECTORY)
file(MAKE_DIRECTORY "${folder}")
file(WRITE "${COPY}" "#include \"model/mutant.hpp\"\n#line 1 \"${ROOT}/${SOURCE}\"\n${text}")
