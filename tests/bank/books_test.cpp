// books_test.cpp - nodes of the bank in simulation: whatever dies, freezes or is cut off, no money is lost.
#include <gmock/gmock.h>

#include <map>

#include <weft/cluster/simulated_names.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/explore.hpp>
#include <weft/weft.hpp>

#include "arch/sanitizer.hpp"
#include "bank/cluster/bank_node.hpp"
#include "bank/cluster/record.hpp"

using namespace std::chrono_literals;

namespace {

/// Under AddressSanitizer a seed takes twenty times as long.
constexpr std::uint64_t seeds(std::uint64_t n) { return WEFT_UNDER_ASAN ? (n + 3) / 4 : n; }

/// One store; each host sees it by a ledger of its own, which can be frozen, and whose answers can be lost.
class simulated_ledger {
public:
    std::shared_ptr<bank::ledger> at(const std::string& host) { return std::make_shared<view>(*this, host); }
    void freeze(const std::string& host) { frozen_[host] = true; }
    void thaw(const std::string& host) { frozen_[host] = false; }
    std::vector<bank::entry> all() const {
        std::vector<bank::entry> entries;
        for (const auto& [_, e] : entries_) entries.push_back(e);
        return entries;
    }
    std::uint32_t lose_answer_one_in = 0;
    std::uint32_t most_ms = 20;  ///< of each way of a call
    bool checks_revisions = true;

private:
    class view final : public bank::ledger {
    public:
        view(simulated_ledger& of, std::string host) : of_(of), host_(std::move(host)) {}
        std::optional<bank::entry> read(std::string_view account) override {
            travel();
            const auto found = of_.entries_.find(std::string(account));
            const auto got = found == of_.entries_.end() ? std::nullopt : std::optional(found->second);
            travel();
            return got;
        }
        std::optional<std::int64_t> write(std::string_view account, std::string_view text, std::int64_t if_revision) override {
            {
                const weft::shield it_is_on_its_way;   // whatever becomes of the node
                travel();
            }
            auto& e = of_.entries_[std::string(account)];
            const bool is_as_known = e.revision == if_revision || !of_.checks_revisions;
            if (is_as_known) e = {.account = std::string(account), .text = std::string(text), .revision = ++of_.revision_};
            const auto revision = e.revision;
            travel();
            if (of_.lose_answer_one_in && weft::draw(of_.lose_answer_one_in) == 0)
                throw std::system_error(std::make_error_code(std::errc::timed_out), "the answer was lost");
            return is_as_known ? std::optional(revision) : std::nullopt;
        }
        std::vector<bank::entry> all() override {
            travel();
            return of_.all();
        }

    private:
        void travel() {
            weft::this_fiber::sleep_for(1ms * weft::draw(of_.most_ms));
            while (of_.frozen_[host_]) weft::this_fiber::sleep_for(100ms);
        }
        simulated_ledger& of_;
        const std::string host_;
    };

    std::map<std::string, bank::entry> entries_;
    std::map<std::string, bool> frozen_;
    std::int64_t revision_ = 0;
};

/// Three nodes.
struct bank_of_three {
    weft::cluster::simulated_transport words{{.least_delay = 1ms, .most_delay = 10ms}};
    weft::cluster::simulated_names names{{.least_delay = 1ms, .most_delay = 10ms}};
    simulated_ledger ledger;
    std::vector<std::string> accounts{"ann", "bob", "cy", "dan"};

    void run(const std::string& name) {
        bank::run_node({.name = name,
                        .words = words.at(name),
                        .names = names.at(name),
                        .ledger = ledger.at(name),
                        .accounts = accounts,
                        .say = [](const std::string&) {}});
    }
    void freeze(const std::string& name) {
        words.freeze(name);
        names.freeze(name);
        ledger.freeze(name);
    }
    /// For up to 24 seconds, or until the fiber is stopped.
    void freeze_a_while(const std::string& name) {
        struct thawing {
            ~thawing() { bank.thaw(name); }
            bank_of_three& bank;
            const std::string& name;
        } const at_the_end{*this, name};
        freeze(name);
        weft::this_fiber::sleep_for(1s * weft::draw(25));
    }
    void thaw(const std::string& name) {
        words.thaw(name);
        names.thaw(name);
        ledger.thaw(name);
    }
    bank::books books() const { return bank::books_of(ledger.all()); }
    bool balance() const {
        const auto b = books();
        return b.cents == static_cast<std::int64_t>(b.accounts) * 1000;
    }
};

/// Lets three nodes run, and disturbs them. \returns whether the books have balanced all the time
bool balance_under(bank_of_three& b, const std::function<void(const std::string&)>& disturb) {
    bool did = true;
    weft::with_scope([&](weft::scope& s) {
        std::vector<weft::child<>> nodes;
        for (const char* const name : {"a1", "a2", "a3"}) nodes.push_back(s.spawn([&b, name] { b.run(name); }));
        s.spawn([&] {
            for (int i = 0; i < 400; ++i, weft::this_fiber::sleep_for(100ms)) did = did && b.balance();
            s.request_stop();
        });
        s.spawn([&] {
            for (;;) {
                weft::this_fiber::sleep_for(1s * (3 + weft::draw(5)));
                disturb("a" + std::to_string(1 + weft::draw(3)));
            }
        });
    });
    return did;
}

}  // namespace

TEST(books, balance_when_nothing_fails_and_the_accounts_are_spread) {
    weft::explore(seeds(5), [] {
        bank_of_three b;
        b.accounts = {"ann", "bob", "cy", "dan", "eve", "fay"};
        EXPECT_TRUE(balance_under(b, [](const std::string&) {}));
        EXPECT_EQ(b.books().accounts, 6u);
        EXPECT_GT(b.books().transfers, 100u);
        for (const auto& [node, has] : b.books().owners) EXPECT_LE(has.size(), 3u) << node;
    });
}

TEST(books, a_newcomer_takes_most_of_what_becomes_free) {
    std::size_t newcomers = 0, others = 0;
    weft::explore(seeds(10), [&] {
        bank_of_three b;
        b.accounts = {"ann", "bob", "cy", "dan", "eve", "fay"};
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] { b.run("a1"); });
            auto leaving = s.spawn([&] { b.run("a2"); });
            weft::this_fiber::sleep_for(15s);
            s.spawn([&] { b.run("a3"); });
            weft::this_fiber::sleep_for(5s);
            const auto before = b.books().owners["a1"].size();
            leaving.request_stop();
            weft::this_fiber::sleep_for(20s);
            newcomers += b.books().owners["a3"].size();
            others += b.books().owners["a1"].size() - before;
            EXPECT_TRUE(b.balance());
            s.request_stop();
        });
    });
    EXPECT_GE(newcomers, 2 * others);
    EXPECT_GT(newcomers, seeds(10));
}

TEST(books, balance_when_nodes_freeze_and_come_back_late) {
    weft::explore(seeds(8), [] {
        bank_of_three b;
        b.ledger.most_ms = 150;
        EXPECT_TRUE(balance_under(b, [&](const std::string& node) { b.freeze_a_while(node); }));
        EXPECT_GT(b.books().transfers, 50u);
    });
}

TEST(books, balance_when_answers_of_the_ledger_and_words_are_lost) {
    weft::explore(seeds(8), [] {
        bank_of_three b;
        b.ledger.lose_answer_one_in = 20;
        b.words.set_faults({.least_delay = 1ms, .most_delay = 20ms, .lose_one_in = 30});
        EXPECT_TRUE(balance_under(b, [](const std::string&) {}));
        EXPECT_GT(b.books().transfers, 20u);
    });
}

TEST(books, do_not_balance_where_the_ledger_takes_writes_of_an_earlier_owner) {
    EXPECT_TRUE(weft::find_failure(50, [] {
        bank_of_three b;
        b.ledger.checks_revisions = false;   // planted
        b.ledger.most_ms = 150;
        const bool did = balance_under(b, [&](const std::string& node) { b.freeze_a_while(node); });
        if (!did) throw std::runtime_error("money is missing");
    }));
}
