// libmariadb_test.cpp - libmariadb, as it is, in fibers; with a MariaDB of the test's own.
#include "clients/support/contract.hpp"
#include "clients/support/libmariadb_client.hpp"

namespace weft::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(libmariadb, clients, libmariadb_client);

#ifdef WEFT_CLIENTS_EXAMPLE
TEST(libmariadb_example, asks_the_server) {
    const libmariadb_client::server server;
    expect_example_to_ask("mysql://tester:secret@127.0.0.1:" + std::to_string(server.port()));
}
#endif

}  // namespace
}  // namespace weft::test
