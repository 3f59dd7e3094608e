// Programs of several releases in one cluster: what they send each other, and how they are replaced one after another.
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <optional>

#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/explore.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::simulated_transport;

namespace shop {

/// A payment as release N knows it. Version 2 has brought the currency; what has none is in EUR.
template <int Release>
struct paid {
    std::int32_t cents = 0;
    std::string currency = "EUR";
};
struct total {
    using reply = std::string;
    friend void to_json(nlohmann::json& j, const total&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, total&) {}
};

template <int Release>
struct till {
    using remote = weft::cluster::messages<paid<Release>, total>;
    void handle(const paid<Release>& p) { by_currency[p.currency] += p.cents; }
    std::string handle(total) const {
        std::string text;
        for (const auto& [currency, cents] : by_currency) text += currency + ' ' + std::to_string(cents) + ' ';
        return text;
    }
    std::map<std::string, int> by_currency;
};

}  // namespace shop

template <int Release>
struct weft::cluster::wire_format<shop::paid<Release>> {
    static void write(const shop::paid<Release>& p, std::uint32_t version, std::vector<std::byte>& into) {
        std::string bytes(sizeof p.cents, '\0');
        std::memcpy(bytes.data(), &p.cents, sizeof p.cents);
        if (version >= 2) bytes += p.currency;
        const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
        into.insert(into.end(), first, first + bytes.size());
    }
    static shop::paid<Release> read(std::span<const std::byte> bytes, std::uint32_t version) {
        shop::paid<Release> p;
        if (bytes.size() < sizeof p.cents || (version < 2 && bytes.size() > sizeof p.cents))
            throw std::runtime_error("no payment");
        std::memcpy(&p.cents, bytes.data(), sizeof p.cents);
        if (version >= 2)
            p.currency.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof p.cents, bytes.size() - sizeof p.cents);
        return p;
    }
};
WEFT_WIRE(shop::paid<1>, "shop.paid", 1);
WEFT_WIRE(shop::paid<2>, "shop.paid", 2, 1);
WEFT_WIRE(shop::paid<3>, "shop.paid", 2);  // has dropped version 1
WEFT_WIRE(shop::total, "shop.total", 1);

namespace {

/// A node with a till that is called "till".
template <int Release>
class shop_node {
public:
    shop_node(simulated_transport& words, const std::string& name)
        : at_({.name = name, .cluster = "shop", .words = words.at(name)}),
          till_(weft::spawn_actor<shop::till<Release>>({.name = "till"})),
          exposed_(at_.expose(till_)) {}
    ~shop_node() { till_.stop(); }
    shop_node(const shop_node&) = delete;
    shop_node& operator=(const shop_node&) = delete;

    node& at() noexcept { return at_; }
    weft::cluster::remote_ref<shop::till<Release>> till_of(const std::string& other) {
        return at_.find<shop::till<Release>>(other, "till", 1s);
    }
    std::string total_of(const std::string& other) { return till_of(other).ask(shop::total{}, 1s); }

private:
    node at_;
    weft::actor_ref<shop::till<Release>> till_;
    weft::cluster::remote_ref<shop::till<Release>> exposed_;
};

/// A place of a cluster, where a release runs and can be replaced by the next one.
class shop_place {
public:
    shop_place(simulated_transport& words, std::string name)
        : words_(words), name_(std::move(name)), old_(std::in_place, words, name_) {}

    void upgrade() {
        old_.reset();
        new_.emplace(words_, name_);
    }
    void pay(const std::string& other, int cents) {
        if (new_)
            new_->till_of(other).ask(shop::paid<2>{.cents = cents, .currency = "USD"}, 1s);
        else
            old_->till_of(other).ask(shop::paid<1>{.cents = cents}, 1s);
    }

private:
    simulated_transport& words_;
    const std::string name_;
    std::optional<shop_node<1>> old_;
    std::optional<shop_node<2>> new_;
};

}  // namespace

TEST(upgrade, two_releases_talk_in_the_newest_version_that_both_know) {
    weft::explore(20, [] {
        simulated_transport words;
        shop_node<1> a(words, "a");
        shop_node<2> b(words, "b"), c(words, "c");
        a.till_of("b").ask(shop::paid<1>{.cents = 1}, 1s);
        b.till_of("a").ask(shop::paid<2>{.cents = 2, .currency = "USD"}, 1s);
        b.till_of("c").ask(shop::paid<2>{.cents = 4, .currency = "USD"}, 1s);
        EXPECT_EQ(a.total_of("b"), "EUR 1 ");
        EXPECT_EQ(b.total_of("a"), "EUR 2 ");  // release 1 knows no currency
        EXPECT_EQ(b.total_of("c"), "USD 4 ");
    });
}

TEST(upgrade, nodes_are_replaced_one_after_another_while_all_ask) {
    weft::explore(5, [] {
        simulated_transport words({.most_delay = 5ms});
        std::map<std::string, shop_place> places;
        for (const char* const name : {"a", "b", "c"}) places.try_emplace(name, words, name);
        weft::with_scope([&](weft::scope& s) {
            std::map<std::string, bool> upgrading;
            int paid = 0;
            for (const char* const name : {"a", "b", "c"}) {
                for (const char* const other : {"a", "b", "c"}) {
                    if (std::string_view(name) == other) continue;
                    s.spawn([&, name, other] {
                        for (;; weft::this_fiber::sleep_for(100ms)) {
                            if (upgrading[name]) continue;
                            try {
                                places.at(name).pay(other, 1);
                                ++paid;
                            } catch (const weft::cluster::error& e) {
                                EXPECT_TRUE(e.code() != errc::bad_version && e.code() != errc::bad_message) << e.what();
                            } catch (const weft::timeout_error&) {
                            } catch (const weft::actor_gone&) {}
                        }
                    });
                }
            }
            for (const char* const name : {"b", "a", "c"}) {
                weft::this_fiber::sleep_for(1s);
                upgrading[name] = true;
                weft::this_fiber::sleep_for(3s);  // longer than any ask of this node
                places.at(name).upgrade();
                upgrading[name] = false;
                const auto before = paid;
                weft::this_fiber::sleep_for(3s);
                EXPECT_GT(paid, before + 60);
            }
            s.request_stop();
        });
        shop_node<2> d(words, "d");
        for (const char* const name : {"a", "b", "c"}) EXPECT_THAT(d.total_of(name), HasSubstr("USD"));
    });
}

TEST(upgrade, releases_without_a_version_in_common_are_told_so_and_go_on) {
    weft::explore(20, [] {
        simulated_transport words;
        shop_node<1> a(words, "a");
        shop_node<3> b(words, "b");
        std::string told;
        try {
            a.till_of("b").ask(shop::paid<1>{.cents = 1}, 1s);
        } catch (const weft::cluster::error& e) {
            EXPECT_EQ(e.code(), errc::bad_version);
            told = e.what();
        }
        EXPECT_THAT(told, HasSubstr("shop.paid"));
        EXPECT_EQ(a.total_of("b"), "");
        EXPECT_EQ(b.total_of("a"), "");
    });
}

TEST(upgrade, a_topic_is_written_in_the_oldest_version_that_its_publisher_knows) {
    weft::explore(20, [] {
        simulated_transport words;
        shop_node<1> a(words, "a");
        shop_node<2> b(words, "b"), c(words, "c");
        weft::cluster::topic<shop::paid<1>> of_a(a.at(), "payments");
        weft::cluster::topic<shop::paid<2>> of_b(b.at(), "payments"), of_c(c.at(), "payments");
        auto at_a = of_a.subscribe();
        auto at_c = of_c.subscribe();
        weft::this_fiber::sleep_for(10ms);
        of_b.publish({.cents = 3, .currency = "USD"});
        EXPECT_EQ(weft::with_timeout(1s, [&] { return at_a.receive(); })->cents, 3);
        EXPECT_EQ(weft::with_timeout(1s, [&] { return at_c.receive(); })->currency,
                  "EUR");  // the next release of b, which has dropped version 1, writes 2
    });
}
