/* hand_off.pml - the hand-off (src/sched/tenure.hpp, docs/design/handoff.md) for Spin: every interleaving of two carriers, the
 * monitor and a thief, on store buffers, and that a worker is got off a fiber that does not want to part with it.
 *
 * tests/model/check_spin runs it; tests/model/spin.cmake lists the variants and what is expected of each.
 *
 * Memory is that of x86: every thread has a queue of BS stores that drains at any time; its own loads look there first; a
 * compare-exchange waits until it is empty. Weaker orders are the business of tenure_model.cpp, which runs the code itself.
 * membarrier drains the caller, then each other thread, one by one with others running in between, then the caller.
 * The monitor asks anybody at any time; carriers refuse or concede as they like: what the runtime does is among it.
 *
 * Asserted: TENURE-1 one user of the worker at a time, who sees what the one before wrote; a carrier that goes on has the worker;
 * who takes gets a worker that was held. With LIVE: a hog, which enters as often as it likes or never again, loses its worker.
 *
 * Mutations (-D): NO_FENCE CALL_FIRST NO_LOOK REFUSE_BY_STORE TAKE_BY_STORE DEMAND_BY_STORE RECLAIM_BY_STORE GIVE_UP_BY_STORE
 *                 SHARED WORDS_IN_WORKER; with LIVE: NOT_STICKY NO_CONCESSION
 */
#define BS 2
#define MONITOR 2
#define THIEF 3

#define none 0
#define answered 1
#define answering 3
#define borrowed 4
#define demanded 5
#define conceded 6
#define lost 7
#ifdef SHARED
#define asked demanded
#else
#define asked 2
#endif

#ifdef WORDS_IN_WORKER
#define INSIDE(c) 0
#define CALL(c) 1
#else
#define INSIDE(c) (c)
#define CALL(c) (2 + (c))
#endif
#define DATA 4

#define NOBODY 9

byte memory[5];
byte where[8]; byte what[8]; byte queued[4];     /* the store buffers */
bool waits[2];                                   /* registered; the runtime's mutex makes it one step */

/* what is the case, whatever anybody believes */
byte users; byte written; byte holder;

#define ROOM(t) (queued[t] < BS)
inline put(t, l, v) { where[(t) * BS + queued[t]] = l; what[(t) * BS + queued[t]] = v; queued[t]++ }
inline get(t, l, r) {
    r = memory[l];
    if :: queued[t] > 0 && where[(t) * BS] == (l) -> r = what[(t) * BS] :: else fi;
    if :: queued[t] > 1 && where[(t) * BS + 1] == (l) -> r = what[(t) * BS + 1] :: else fi
}
inline drain_one(t) {
    memory[where[(t) * BS]] = what[(t) * BS];
    where[(t) * BS] = where[(t) * BS + 1]; what[(t) * BS] = what[(t) * BS + 1];
    where[(t) * BS + 1] = 0; what[(t) * BS + 1] = 0;
    queued[t]--
}
inline drain(t) { d_step { do :: queued[t] > 0 -> drain_one(t) :: else -> break od } }
inline store(t, l, v) { atomic { ROOM(t) -> put(t, l, v) } }
inline load(t, l, r) { d_step { get(t, l, r) } }
#define FENCED(t) (queued[t] == 0)
/* inside atomic, after FENCED: r is what was found */
inline exchange(l, e, n, r) { r = memory[l]; if :: r == (e) -> memory[l] = n :: else fi }

inline membarrier(t) { drain(t); drain(0); drain(1); drain(MONITOR); drain(THIEF); drain(t) }

inline use(t) {
    atomic { get(t, DATA, x); assert(users == 1); assert(x == written) };
    atomic { ROOM(t) -> put(t, DATA, 1 - x); written = 1 - x; x = 0; assert(users == 1) }
}
inline mine(c) { assert(holder == c); users++; assert(users == 1) }   /* inside atomic */

proctype Buffer(byte t) {
end: do :: d_step { queued[t] > 0 -> drain_one(t) } od
}

proctype Carrier(byte c) {
    byte r, x;
    if :: c == 0 -> goto fiber :: else -> goto wait fi;
visit:
    r = 0;
    if :: use(c) :: skip fi;
#ifndef LIVE
    if
    :: atomic { waits[1 - c] && FENCED(c) ->                        /* give_up, and a grant to the other */
#ifdef GIVE_UP_BY_STORE
           r = none; memory[CALL(c)] = lost;
#else
           exchange(CALL(c), none, lost, r);
#endif
           if :: r == none -> users--; holder = 1 - c; waits[1 - c] = 0 :: else fi };
       if :: r == none -> store(c, CALL(1 - c), none); goto wait :: else -> r = 0 fi
    :: skip
    fi;
#endif
    atomic { ROOM(c) -> users--; put(c, INSIDE(c), 0) };
fiber:
#ifdef LIVE
    if :: c == 0 -> goto forever :: skip fi;                        /* it computes, or blocks, and does not come back */
#endif
#ifdef CALL_FIRST
    atomic { get(c, CALL(c), r); if :: r <= answered -> mine(c) :: else fi };
    store(c, INSIDE(c), 1);
#else
    store(c, INSIDE(c), 1);
    atomic { get(c, CALL(c), r); if :: r <= answered -> mine(c) :: else fi };
#endif
    if :: r <= answered -> goto visit :: else fi;
attend:
    if
#ifndef SHARED
    :: r == asked ->
       atomic { FENCED(c) -> exchange(CALL(c), asked, answering, r); if :: r == asked -> mine(c) :: else fi };
       if :: r == asked -> use(c); store(c, CALL(c), answered); goto visit :: else -> goto attend fi
#endif
#if !defined(LIVE) || defined(NO_CONCESSION)
    :: r == demanded ->
#ifdef REFUSE_BY_STORE
       atomic { ROOM(c) -> put(c, CALL(c), none); mine(c) };
       goto visit
#else
       atomic { FENCED(c) -> exchange(CALL(c), demanded, none, r); if :: r == demanded -> mine(c) :: else fi };
       if :: r == demanded -> goto visit :: else -> goto attend fi
#endif
#endif
#ifndef NO_CONCESSION
    :: r == demanded ->
       atomic { FENCED(c) -> exchange(CALL(c), demanded, conceded, r);
                if :: r == demanded -> assert(holder == c); holder = NOBODY :: else fi };
       if :: r == demanded -> goto without :: else -> goto attend fi
#endif
    :: r == borrowed -> load(c, CALL(c), r); goto attend
    :: r <= answered -> atomic { mine(c) }; goto visit
    :: r == conceded || r == lost -> goto without
    fi;
without:                                                            /* inside, without a worker */
    if
    :: atomic { ROOM(c) -> put(c, INSIDE(c), 0); r = 0 }; goto fiber
#ifndef LIVE
    :: atomic { FENCED(c) ->
#ifdef RECLAIM_BY_STORE
           r = memory[CALL(c)]; if :: r == conceded -> skip :: else fi };
       atomic { if :: r == conceded -> memory[CALL(c)] = none; holder = c; mine(c) :: else fi };
#else
           exchange(CALL(c), conceded, none, r);
           if :: r == conceded -> holder = c; mine(c) :: else fi };
#endif
       if :: r == conceded -> goto visit :: else -> goto wait fi
#else
    :: r == lost -> goto wait
#endif
    fi;
wait:
    atomic { FENCED(c) -> waits[c] = 1 };
endwait:
    atomic { memory[CALL(c)] != lost -> mine(c); r = 0 };
    goto visit;
forever:
endforever:
    false
}

proctype Monitor() {
    byte c, r, x;
end:
    do
    :: c = 1 - c;
#ifndef LIVE
       if :: c = 1 - c :: skip fi;
#endif
#ifdef DEMAND_BY_STORE
       store(MONITOR, CALL(c), demanded); r = none;
#else
       atomic { FENCED(MONITOR) -> exchange(CALL(c), none, demanded, r) };
#endif
       if :: r != none -> goto over :: else fi;
#ifndef NO_FENCE
       membarrier(MONITOR);
#endif
look:
       load(MONITOR, CALL(c), r);
       if :: r != demanded -> goto fetch :: else fi;
#ifdef NO_LOOK
       x = 0;
#else
       load(MONITOR, INSIDE(c), x);
#endif
       if
       :: x == 0 ->
#ifdef TAKE_BY_STORE
          atomic { ROOM(MONITOR) -> put(MONITOR, CALL(c), lost); assert(holder == c); holder = NOBODY; users++; assert(users == 1) };
          goto taken
#else
          atomic { FENCED(MONITOR) -> exchange(CALL(c), demanded, lost, r);
                   if :: r == demanded -> assert(holder == c); holder = NOBODY; users++; assert(users == 1) :: else fi };
          if :: r == demanded -> goto taken :: else -> goto fetch fi
#endif
#ifndef NOT_STICKY
       :: x == 1 -> goto look
#endif
#if !defined(LIVE) || defined(NOT_STICKY)
       :: x == 1 -> atomic { FENCED(MONITOR) -> exchange(CALL(c), demanded, none, r) };
          if :: r == demanded -> goto over :: else -> goto fetch fi
#endif
       fi;
fetch:
       if :: r != conceded -> goto over :: else fi;
       atomic { FENCED(MONITOR) -> exchange(CALL(c), conceded, lost, r);
                if :: r == conceded -> assert(holder == NOBODY); users++; assert(users == 1) :: else fi };
       if :: r != conceded -> goto over :: else fi;
taken:
       use(MONITOR);
endgrant:
       atomic { waits[0] || waits[1] -> if :: waits[0] -> r = 0 :: waits[1] -> r = 1 fi; waits[r] = 0 };
       atomic { ROOM(MONITOR) -> users--; holder = r; put(MONITOR, CALL(r), none) };
over:
       x = 0; r = 0
    od
}

#ifndef LIVE
proctype Thief() {
    byte c, r, x;
end:
    do
    :: if :: c = 0 :: c = 1 fi;
       atomic { FENCED(THIEF) -> exchange(CALL(c), none, asked, r) };
       if :: r != none -> goto over :: else fi;
       membarrier(THIEF);
       load(THIEF, INSIDE(c), x);
       if
       :: x == 0 ->
          atomic { FENCED(THIEF) -> exchange(CALL(c), asked, borrowed, r);
                   if :: r == asked -> users++; assert(users == 1) :: else fi };
          if :: r == asked -> use(THIEF); atomic { ROOM(THIEF) -> users--; put(THIEF, CALL(c), none) }; goto over :: else fi
       :: else
       fi;
       atomic { FENCED(THIEF) -> exchange(CALL(c), asked, none, r) };
       if
       :: r == asked -> goto over
#ifdef SHARED
       :: else -> goto over
#else
       :: else -> memory[CALL(c)] == answered; store(THIEF, CALL(c), none)
#endif
       fi;
over:
       x = 0; r = 0
    od
}
#endif

init {
    atomic {
        holder = 0;
#ifndef WORDS_IN_WORKER
        memory[INSIDE(1)] = 1; memory[CALL(1)] = lost;
#endif
        run Carrier(0); run Carrier(1); run Monitor();
#ifndef LIVE
        run Thief(); run Buffer(THIEF);
#endif
        run Buffer(0); run Buffer(1); run Buffer(MONITOR)
    }
}

#ifdef LIVE
ltl a_hog_loses_its_worker { [] ((holder == 0) -> <> (holder != 0)) }
#endif
