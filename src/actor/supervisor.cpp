// supervisor.cpp - the two kinds of children, actors and supervisors, behind weft::supervisor.
#include <weft/supervisor.hpp>

#include "actor/supervisor_core.hpp"
#include "base/panic.hpp"

namespace weft::detail {
namespace {

class actor_child final : public child, public actor_parent {
public:
    actor_child(std::shared_ptr<supervisor_core> s, const child_attributes& a, actor_core& actor)
        : child(std::move(s), a), actor_(&actor) {
        actor.refer();
    }

    void start(scheduler& where) override { actor_.core().start(where); }
    void close() noexcept override { actor_.core().close(); }
    void stop() noexcept override { actor_.core().stop(); }
    void kill() noexcept override { actor_.core().kill(); }
    void end(exit_reason why) noexcept override { actor_.core().end(std::move(why)); }
    bool is(const void* core) const noexcept override { return actor_.get() == core; }

    void life_ended(exit_reason why) noexcept override { owner->child_ended(*this, std::move(why)); }

private:
    const actor_core_ref actor_;
};

class supervisor_child final : public child {
public:
    supervisor_child(std::shared_ptr<supervisor_core> parent, const child_attributes& a, std::shared_ptr<supervisor_core> s)
        : child(std::move(parent), a), supervisor_(std::move(s)) {}

    void start(scheduler& where) override { supervisor_->begin(where); }
    void close() noexcept override { supervisor_->ask_to(supervisor_core::end_by::close); }
    void stop() noexcept override { supervisor_->ask_to(supervisor_core::end_by::stop); }
    void kill() noexcept override { supervisor_->ask_to(supervisor_core::end_by::kill); }
    void end(exit_reason why) noexcept override { supervisor_->end(std::move(why)); }
    bool is(const void* core) const noexcept override { return supervisor_.get() == core; }

private:
    const std::shared_ptr<supervisor_core> supervisor_;
};

}  // namespace

std::shared_ptr<supervisor_core> make_supervisor(const supervisor_options& o) { return std::make_shared<supervisor_core>(o); }

std::shared_ptr<supervisor_core> make_supervisor(supervisor_core& parent, const child_attributes& a,
                                                 const supervisor_options& o) {
    auto options = o;
    if (options.name.empty()) options.name = a.name;
    auto made = std::make_shared<supervisor_core>(options);
    auto as_child = std::make_shared<supervisor_child>(parent.shared_from_this(), a, made);
    made->become_child(as_child);
    try {
        parent.add(std::move(as_child));
    } catch (...) {
        made->become_child(nullptr);
        throw;
    }
    return made;
}

void start_supervisor(supervisor_core& s, std::string_view what) { s.begin(runtime_here(what)); }
void start_supervisor(supervisor_core& s, const runtime& rt) { s.begin(scheduler_of(rt)); }

void add_child(supervisor_core& s, const child_attributes& a, actor_core& actor) {
    const auto made = std::make_shared<actor_child>(s.shared_from_this(), a, actor);
    actor.set_parent(made, a.shutdown);
    try {
        s.add(made);
    } catch (...) {
        actor.end({.kind = exit_kind::stopped});
        throw;
    }
}

bool stop_child(supervisor_core& s, const actor_core& a) noexcept { return s.dismiss(&a); }
bool stop_child(supervisor_core& s, const supervisor_core& of_its_own) noexcept { return s.dismiss(&of_its_own); }
bool supervisor_has_failed(const supervisor_core& s) noexcept { return s.has_failed(); }
bool supervisor_has_ended(const supervisor_core& s) noexcept { return s.has_ended(); }
std::string_view supervisor_name(const supervisor_core& s) noexcept { return s.name(); }
std::size_t supervisor_size(const supervisor_core& s) noexcept { return s.size(); }
std::size_t supervisor_restarts(const supervisor_core& s) noexcept { return s.restarts(); }
receiver<exit_reason> supervisor_monitor(supervisor_core& s) { return s.monitor(); }
void supervisor_close(supervisor_core& s) noexcept { s.ask_to(supervisor_core::end_by::close); }
void supervisor_stop(supervisor_core& s) noexcept { s.ask_to(supervisor_core::end_by::stop); }
void supervisor_kill(supervisor_core& s) noexcept { s.ask_to(supervisor_core::end_by::kill); }
void supervisor_join(supervisor_core& s) noexcept { s.join(); }
void empty_supervisor_ref() noexcept { panic("actor_ref<supervisor>: a reference is not used after it was moved from"); }
linkable& end_of_link(supervisor_core& s) noexcept { return s; }

}  // namespace weft::detail
