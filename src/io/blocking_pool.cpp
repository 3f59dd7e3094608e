#include "io/blocking_pool.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/clock.hpp>

#include "sched/inspect/quiet_threads.hpp"
#include "sched/monitor/preemption.hpp"
#include "stack/overflow.hpp"

namespace weft::detail {

/// One thread of the pool.
struct blocking_pool::member : list_hook<member> {
    // Kept until the thread's last step.
    std::shared_ptr<shared> pool;
    pthread_t thread{};
    futex_word signal{0};
    // The job handed over; guarded by `lock`.
    blocking_job* job = nullptr;
    // The thread only has to be joined; guarded by `lock`.
    bool finished = false;
    // The thread will not be joined; guarded by `lock`.
    bool abandoned = false;
    member* idle_below = nullptr;
    bool starts_reserve = false;  // used by the thread itself
    // It runs a call made by `origin`; guarded by `lock`.
    bool runs = false;
    call_origin origin{};
};

struct blocking_pool::shared {
    explicit shared(blocking_pool_options o) : options(std::move(o)) {}

    const blocking_pool_options options;
    mutable spin_lock lock;
    intrusive_list<blocking_job> queue WEFT_GUARDED_BY(lock);
    std::size_t queued WEFT_GUARDED_BY(lock) = 0;
    intrusive_list<member> members WEFT_GUARDED_BY(lock);  // every thread that will be joined
    // the number of members without the finished ones
    unsigned threads WEFT_GUARDED_BY(lock) = 0;
    // The newest first, so that surplus threads reach their time limit.
    member* idle WEFT_GUARDED_BY(lock) = nullptr;
    // The reserve (BLOCKING_POOL-5); set before its thread starts.
    member* reserve WEFT_GUARDED_BY(lock) = nullptr;
    // There is a reserve, or one is being started.
    bool has_reserve WEFT_GUARDED_BY(lock) = false;
    bool ending WEFT_GUARDED_BY(lock) = false;
    // A delay was already reported.
    bool has_noticed WEFT_GUARDED_BY(lock) = false;
    futex_word finished_count{0};

    void add_to_queue(blocking_job& job) noexcept WEFT_REQUIRES(lock);
    void remove_from_queue(blocking_job& job) noexcept WEFT_REQUIRES(lock);
    void take_queue(intrusive_list<blocking_job>& into) noexcept WEFT_REQUIRES(lock);
    bool wants_reserve() noexcept WEFT_REQUIRES(lock);
    void start_reserve(const std::shared_ptr<shared>& self) noexcept WEFT_EXCLUDES(lock);
    void relieve(member& me) noexcept WEFT_REQUIRES(lock);
    void start_thread(const std::shared_ptr<shared>& self, blocking_job& job) WEFT_EXCLUDES(lock);
    void thread_failed(blocking_job& job, std::unique_ptr<member> unborn, int error) WEFT_EXCLUDES(lock);
    static void* thread_main(void* arg) noexcept;
    blocking_job* next_job(member& me) noexcept WEFT_EXCLUDES(lock);
    static blocking_job* begin(member& me, blocking_job& job) noexcept;
    blocking_job* take_front(member& me) noexcept WEFT_REQUIRES(lock);
    bool wait_for_job(member& me) noexcept WEFT_EXCLUDES(lock);
    bool leave_idle(member& me) noexcept WEFT_EXCLUDES(lock);
    bool wait_until_finished(detail::time_point until) noexcept WEFT_EXCLUDES(lock);
    bool is_late() noexcept WEFT_REQUIRES(lock);
    void print_delay() noexcept WEFT_EXCLUDES(lock);
};

namespace {

std::optional<monotonic_ns> futex_deadline(time_point t) noexcept {
    return t == never ? std::optional<monotonic_ns>() : t.time_since_epoch().count();
}

}  // namespace

blocking_pool::blocking_pool(blocking_pool_options options) : shared_(std::make_shared<shared>(std::move(options))) {}

blocking_pool::submitted blocking_pool::submit(blocking_job& job) {
    shared& s = *shared_;
    member* sleeper = nullptr;
    bool queued = false, short_of_reserve = false, late = false;
    {
        const lock_guard guard(s.lock);
        if (s.idle) {
            sleeper = std::exchange(s.idle, s.idle->idle_below);  // BLOCKING_POOL-4
            sleeper->job = &job;
            sleeper->signal.store(1, release);  // pairs with the acquire in wait_for_job()
        } else if (s.threads >= s.options.max_threads) {
            s.add_to_queue(job);  // BLOCKING_POOL-3
            queued = true;
            short_of_reserve = s.wants_reserve();
            late = s.is_late();
        } else {
            ++s.threads;
        }
    }
    if (short_of_reserve) s.start_reserve(shared_);
    if (late) s.print_delay();
    if (queued) return submitted::queued;
    if (sleeper)
        // Uses only the address: the thread may have seen the signal already, and may even have
        // ended.
        futex_wake(sleeper->signal, 1);
    else
        s.start_thread(shared_, job);
    return submitted::handed;
}

std::chrono::nanoseconds blocking_pool::notice_after() const noexcept { return shared_->options.notice; }

void blocking_pool::notice_delay(blocking_job& job) noexcept {
    bool late = false;
    {
        const lock_guard guard(shared_->lock);
        late = job.is_queued && shared_->is_late();
    }
    if (late) shared_->print_delay();
}

// Returns true once; the caller then prints the line.
bool blocking_pool::shared::is_late() noexcept {
    if (has_noticed || queue.empty() || clock::now() < queue.front()->queued_at + options.notice) return false;
    has_noticed = true;
    return true;
}

void blocking_pool::shared::print_delay() noexcept {
    try {
        std::vector<call_origin> callers;
        callers.reserve(options.most_threads);
        std::size_t waiting = 0;
        {
            const lock_guard guard(lock);
            waiting = queued;
            for (const member* m = members.front(); m; m = members.next(*m))
                if (m->runs && callers.size() < callers.capacity()) callers.push_back(m->origin);
        }
        std::fprintf(
            stderr,
            "weft: %s has waited for %lld ms, %zu wait: %zu threads are busy, and there are at most %u%s; they are busy for %s\n",
            options.what.c_str(), static_cast<long long>(options.notice / std::chrono::milliseconds(1)), waiting, callers.size(),
            options.most_threads, options.option.c_str(), listed(callers).c_str());
    } catch (const std::bad_alloc&) {}  // no memory for the line: the program has a worse problem
}

bool blocking_pool::withdraw(blocking_job& job) noexcept {
    const lock_guard guard(shared_->lock);
    if (!job.is_queued) return false;  // BLOCKING_POOL-1
    shared_->remove_from_queue(job);
    return true;
}

unsigned blocking_pool::threads() const noexcept {
    const lock_guard guard(shared_->lock);
    return shared_->threads - (shared_->has_reserve ? 1 : 0);
}

std::size_t blocking_pool::queued() const noexcept {
    const lock_guard guard(shared_->lock);
    return shared_->queued;
}

void blocking_pool::shared::add_to_queue(blocking_job& job) noexcept {
    job.is_queued = true;
    job.queued_at = clock::now();
    queue.push_back(job);
    ++queued;
}

void blocking_pool::shared::remove_from_queue(blocking_job& job) noexcept {
    job.is_queued = false;
    queue.remove(job);
    --queued;
}

void blocking_pool::shared::take_queue(intrusive_list<blocking_job>& into) noexcept {
    while (blocking_job* j = queue.front()) {
        remove_from_queue(*j);
        into.push_back(*j);
    }
}

// BLOCKING_POOL-5. If true, the caller starts the reserve.
bool blocking_pool::shared::wants_reserve() noexcept {
    if (queue.empty() || has_reserve || ending || threads >= options.most_threads) return false;
    has_reserve = true;
    ++threads;
    return true;
}

void blocking_pool::shared::start_reserve(const std::shared_ptr<shared>& self) noexcept {
    std::unique_ptr<member> fresh;
    try {
        fresh = std::make_unique<member>();
        fresh->pool = self;
        {
            const lock_guard guard(lock);
            members.push_back(*fresh);
            reserve = fresh.get();
        }
        if (pthread_create(&fresh->thread, nullptr, thread_main, fresh.get()) == 0) return void(fresh.release());
    } catch (const std::bad_alloc&) {}
    // The start failed: the other threads will take what is queued.
    const lock_guard guard(lock);
    if (fresh && !fresh->abandoned) members.remove(*fresh);
    reserve = nullptr;
    has_reserve = false;
    --threads;
}

// If `me` was the reserve, it is an ordinary thread from now on.
void blocking_pool::shared::relieve(member& me) noexcept {
    if (reserve != &me) return;
    reserve = nullptr;
    has_reserve = false;
    me.starts_reserve = wants_reserve();
}

void blocking_pool::shared::start_thread(const std::shared_ptr<shared>& self, blocking_job& job) {
    std::unique_ptr<member> fresh;
    int error = ENOMEM;
    try {
        fresh = std::make_unique<member>();
        fresh->pool = self;
        fresh->job = &job;
        {
            const lock_guard guard(lock);
            members.push_back(*fresh);
        }
        error = pthread_create(&fresh->thread, nullptr, thread_main, fresh.get());
    } catch (const std::bad_alloc&) {}
    if (error != 0) return thread_failed(job, std::move(fresh), error);
    // It now belongs to the thread, or to the destructor of the pool.
    fresh.release();
}

void blocking_pool::shared::thread_failed(blocking_job& job, std::unique_ptr<member> unborn, int error) {
    intrusive_list<blocking_job> stranded;
    {
        const lock_guard guard(lock);
        if (unborn) members.remove(*unborn);
        // The other threads will take the job.
        if (--threads > 0) {
            add_to_queue(job);
            return;
        }
        take_queue(stranded);
    }
    while (blocking_job* j = stranded.pop_front()) j->refuse();
    throw std::system_error(error, std::system_category(), "weft: no thread for a blocking call");
}

void* blocking_pool::shared::thread_main(void* arg) noexcept {
    std::unique_ptr<member> me(static_cast<member*>(arg));
    const std::shared_ptr<shared> pool = std::move(me->pool);
    pthread_setname_np(pthread_self(), pool->options.thread_name.substr(0, 15).c_str());
    set_usual_slice();
    // For reports of a stack overflow in coroutines, which may run on any thread.
    const alternate_stack for_overflow;
    while (blocking_job* job = pool->next_job(*me)) {
        if (std::exchange(me->starts_reserve, false)) pool->start_reserve(pool);
        job->run();
    }

    bool will_be_joined = false;
    {
        const lock_guard guard(pool->lock);
        --pool->threads;
        will_be_joined = pool->ending && !me->abandoned;
        if (will_be_joined)
            me->finished = true;
        else if (!me->abandoned)
            pool->members.remove(*me);
    }
    if (!will_be_joined) {
        pthread_detach(pthread_self());
        return nullptr;
    }
    // It now belongs to the destructor of the pool.
    me.release();
    pool->finished_count.fetch_add(1, release);  // pairs with wait_until_finished()
    futex_wake(pool->finished_count, 1);
    return nullptr;
}

// Called under the lock (BLOCKING_POOL-6).
blocking_job* blocking_pool::shared::begin(member& me, blocking_job& job) noexcept {
    me.runs = true;
    me.origin = job.origin;
    return &job;
}

/// The next job to run; null if the thread is to end.
blocking_job* blocking_pool::shared::next_job(member& me) noexcept {
    for (;;) {
        std::optional<time_point> overdue_at;
        {
            const lock_guard guard(lock);
            me.runs = false;
            if (auto* const handed = std::exchange(me.job, nullptr)) return begin(me, *handed);
            if (ending) return nullptr;
            if (auto* const job = take_front(me)) return begin(me, *job);
            // No other thread sets the signal now: this thread is not in `idle`, and the
            // destructor, which wakes the reserve, needs the lock.
            me.signal.store(0, relaxed);
            if (queue.empty()) {
                relieve(me);
                me.idle_below = std::exchange(idle, &me);
            } else {
                overdue_at = queue.front()->queued_at + options.patience;
            }
        }
        if (overdue_at)
            (void)futex_wait(me.signal, 0, futex_deadline(*overdue_at));
        else if (!wait_for_job(me))
            return nullptr;
    }
}

// The reserve takes only a job that has waited for `patience` (BLOCKING_POOL-5).
blocking_job* blocking_pool::shared::take_front(member& me) noexcept {
    auto* const job = queue.front();
    if (!job || (reserve == &me && clock::now() < job->queued_at + options.patience)) return nullptr;
    remove_from_queue(*job);
    relieve(me);
    return job;
}

/// Returns false if the thread was idle for too long; it is then out of the idle list.
bool blocking_pool::shared::wait_for_job(member& me) noexcept {
    const auto until = futex_deadline(deadline_after(options.idle));
    const quiet_thread of_weft;
    while (me.signal.load(acquire) == 0)  // pairs with submit()
        if (futex_wait(me.signal, 0, until) == futex_result::timed_out) return !leave_idle(me);
    return true;
}

/// Returns false if another thread has already taken it out of the list, with a job or the order to
/// end.
bool blocking_pool::shared::leave_idle(member& me) noexcept {
    const lock_guard guard(lock);
    for (member** m = &idle; *m; m = &(*m)->idle_below) {
        if (*m != &me) continue;
        *m = me.idle_below;
        return true;
    }
    return false;
}

bool blocking_pool::shared::wait_until_finished(detail::time_point until) noexcept {
    for (;;) {
        const auto seen = finished_count.load(acquire);  // pairs with thread_main()
        {
            const lock_guard guard(lock);
            if (threads == 0) return true;
        }
        if (futex_wait(finished_count, seen, futex_deadline(until)) == futex_result::timed_out) return false;
    }
}

blocking_pool::~blocking_pool() {
    shared& s = *shared_;
    intrusive_list<blocking_job> never_run;
    member* sleepers = nullptr;
    {
        const lock_guard guard(s.lock);
        s.ending = true;
        s.take_queue(never_run);
        sleepers = std::exchange(s.idle, nullptr);
        // BLOCKING_POOL-4; pairs with wait_for_job()
        for (member* m = sleepers; m; m = m->idle_below) m->signal.store(1, release);
        if (s.reserve) {
            // The reserve looks at `ending` under the lock.
            s.reserve->signal.store(1, relaxed);
            futex_wake(s.reserve->signal, 1);
        }
    }
    // They exist until they are joined.
    for (member* m = sleepers; m; m = m->idle_below) futex_wake(m->signal, 1);
    while (blocking_job* j = never_run.pop_front()) j->refuse();
    s.wait_until_finished(deadline_after(s.options.grace));

    for (;;) {
        std::unique_ptr<member> done;
        {
            const lock_guard guard(s.lock);
            member* const m = s.members.pop_front();
            if (!m) return;
            if (m->finished)
                done.reset(m);
            else
                m->abandoned = true;
        }
        if (done) pthread_join(done->thread, nullptr);
    }
}

// chosen: the initial bound is as many threads as disks and resolvers can use.
blocking_pools::blocking_pools(unsigned most_threads)
    : calls({.max_threads = std::min(64u, most_threads), .most_threads = most_threads}),
      look_ups({.thread_name = "weft-look-up", .what = "a look-up of a name", .option = ""}),
      starts(
          {.max_threads = 16, .most_threads = 64, .thread_name = "weft-start", .what = "the start of a process", .option = ""}),
      files({.thread_name = "weft-files", .what = "an operation on a file", .option = ""}) {}

}  // namespace weft::detail
