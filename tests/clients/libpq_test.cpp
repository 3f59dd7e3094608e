// libpq_test.cpp - libpq with TLS, as it is, in fibers; with a PostgreSQL of the test's own.
#include "clients/support/contract.hpp"
#include "clients/support/libpq_client.hpp"

namespace weft::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(libpq, clients, libpq_client);

#ifdef WEFT_CLIENTS_EXAMPLE
TEST(libpq_example, asks_the_server) {
    const libpq_client::server server;
    expect_example_to_ask(server.url());
}
#endif

}  // namespace
}  // namespace weft::test
