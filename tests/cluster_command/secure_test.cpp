// secure_test.cpp - what `weft cluster init` writes, and what the servers then let a node do, and not do.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include <weft/etcd/client.hpp>
#include <weft/nats/client.hpp>
#include <weft/tls/context.hpp>
#include <weft/weft.hpp>

#include "cluster_command/support/running_weft.hpp"
#include "tools/support/finished.hpp"

namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using weft::test::becomes_true;
using weft::test::run_weft;
using weft::test::running_weft;

/// A client of NATS with a node's certificate, and what the server has refused it.
class client_of {
public:
    client_of(const std::string& config, const std::string& node, const std::string& url)
        : tls_({.certificate_chain = config + "/" + node + ".pem",
                .private_key = config + "/" + node + ".key",
                .ca = config + "/ca.pem"}),
          client_({.servers = {url}, .tls = &tls_, .on_event = [this](const weft::nats::event& e) {
                       const std::lock_guard guard(lock_);
                       if (e.what == weft::nats::event::kind::server_error) refused_.push_back(e.text);
                   }}) {}
    weft::nats::client& operator*() { return client_; }
    weft::nats::client* operator->() { return &client_; }
    std::vector<std::string> refused() {
        const std::lock_guard guard(lock_);
        return refused_;
    }
    /// Whether the server refuses something about a subject, which a fiber of the client is told.
    bool is_refused(const std::string& subject) {
        for (const auto until = weft::now() + 60s; weft::now() < until; weft::this_fiber::sleep_for(10ms))
            if (testing::Value(refused(), Contains(HasSubstr(subject)))) return true;
        return false;
    }

private:
    weft::tls::context tls_;
    std::mutex lock_;
    std::vector<std::string> refused_;
    weft::nats::client client_;
};

std::string url_of(const running_weft& weft, const std::string& server) {
    return weft.all("(?:^|\n)" + server + " +pid [0-9]+ +([a-z]+://[0-9.:]+)").at(0).at(1);
}

void expect_that_nats_knows_who_is_who(const std::string& config, const std::string& url) {
    client_of a1(config, "a1", url), a2(config, "a2", url);
    auto for_a1 = a1->subscribe("w.bank.n.a1.7.*");
    a1->flush();
    a2->publish("w.bank.n.a1.7.a3", "as a3");
    a2->publish("w.bank.n.a1.7.a2", "as a2");
    const auto got = weft::with_timeout(60s, [&] { return for_a1.receive(); });
    ASSERT_TRUE(got);
    EXPECT_EQ(got->payload, "as a2");
    EXPECT_TRUE(a2.is_refused("w.bank.n.a1.7.a3"));

    auto batches_of_a2 = a2->subscribe("w.bank.n.a2.*.*"), batches_of_a1 = a2->subscribe("w.bank.n.a1.>");
    a2->flush();
    EXPECT_TRUE(a2.is_refused("w.bank.n.a1.>"));
    EXPECT_THAT(a2.refused(), testing::Not(Contains(HasSubstr("w.bank.n.a2.*.*"))));
    EXPECT_TRUE(a1.refused().empty());
}

void expect_that_nats_takes_no_strangers(const std::string& config, const std::string& url) {
    const weft::tls::context without({.ca = config + "/ca.pem"});
    weft::nats::client nobody({.servers = {url}, .tls = &without});
    std::error_code failed;
    nobody.flush(1s, failed);
    EXPECT_TRUE(failed);
}

void expect_that_etcd_knows_who_is_who(const std::string& config, const std::string& url) {
    const weft::tls::context tls(
        {.certificate_chain = config + "/a2.pem", .private_key = config + "/a2.key", .ca = config + "/ca.pem"});
    auto password = weft::test::text_of(config + "/a2.password");
    password.pop_back();
    const weft::etcd::client a2({.endpoints = {url}, .user = "a2", .password = password, .tls = &tls});
    EXPECT_TRUE(a2.get("/weft/bank/node/a1"));
    try {
        a2.put("/weft/bank/node/a1", "as a1");
        FAIL() << "a2 has written a1's key";
    } catch (const weft::etcd::error& e) {
        EXPECT_EQ(e.reason(), weft::etcd::etcd_errc::permission_denied) << e.what();
    }
    const weft::etcd::client nobody({.endpoints = {url}, .tls = &tls});
    EXPECT_THROW((void)nobody.get("/weft/bank/node/a1"), weft::etcd::error);
}

}  // namespace

TEST(cluster_init, writes_files_for_its_user_alone_and_overwrites_none) {
    const weft::test::scratch folder;
    const auto config = folder / "config";
    ASSERT_EQ(run_weft({"cluster", "init", config, "--cluster", "bank", "--nodes", "a1,a2"}).code, 0);
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(config)) {
        struct stat is {};
        ASSERT_EQ(::stat(file.path().c_str(), &is), 0);
        EXPECT_EQ(is.st_mode & 0777u, 0600u) << file.path();
        names.push_back(file.path().filename());
    }
    EXPECT_THAT(names,
                testing::IsSupersetOf({"ca.pem", "a1.pem", "a1.key", "a2.password", "server.key", "nats.conf", "etcd.yml"}));
    const auto before = weft::test::text_of(config + "/ca.pem");
    const auto again = run_weft({"cluster", "init", config});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.errors, HasSubstr("is there already, and is not overwritten"));
    EXPECT_EQ(weft::test::text_of(config + "/ca.pem"), before);
    const auto printed = run_weft({"cluster", "permissions", "--node", "a1"}).output;
    EXPECT_THAT(weft::test::text_of(config + "/nats.conf"), HasSubstr(printed));
    EXPECT_EQ(run_weft({"cluster", "init", folder / "other", "--nodes", "a 1"}).code, 2);
    EXPECT_EQ(run_weft({"cluster", "init", folder / "other", "--groups", ">"}).code, 2);
    const auto with_more =
        run_weft({"cluster", "permissions", "--node", "a1", "--groups", "bank.readers", "--topics", "prices"}).output;
    EXPECT_THAT(with_more, HasSubstr("\"w.bank.f.*\", \"w.bank.g.bank.readers\", \"w.bank.t.prices\"]"));
    EXPECT_EQ(run_weft({"cluster", "init", folder / "other", "--queues", "a.*"}).code, 2);
    ASSERT_EQ(run_weft({"cluster", "init", folder / "queues", "--queues", "letters"}).code, 0);
    EXPECT_THAT(weft::test::text_of(folder / "queues/nats.conf"),
                testing::AllOf(HasSubstr("jetstream { store_dir: "), HasSubstr("\"$JS.API.STREAM.INFO.w~bank~q~letters~dead\"")));
}

TEST(cluster_dev, with_tls_no_node_writes_or_reads_as_another) {
    const weft::test::scratch folder;
    running_weft weft({"cluster", "dev", "--secure", "--dir", folder / "dev"});
    ASSERT_TRUE(becomes_true([&] { return !weft.all(" [1-9][0-9]* transfers, .*: the books balance").empty(); })) << weft.text();
    const auto config = folder / "dev/config", nats = url_of(weft, "nats-server"), etcd = url_of(weft, "etcd");
    EXPECT_THAT(nats, HasSubstr("tls://"));
    EXPECT_THAT(etcd, HasSubstr("https://"));
    weft::run([&] {
        expect_that_nats_knows_who_is_who(config, nats);
        expect_that_nats_takes_no_strangers(config, nats);
        expect_that_etcd_knows_who_is_who(config, etcd);
    });
    EXPECT_THAT(weft.text(), testing::Not(HasSubstr("NATS refuses")));   // what the nodes need is permitted
    EXPECT_EQ(weft.end_by(SIGTERM), 0);
}
