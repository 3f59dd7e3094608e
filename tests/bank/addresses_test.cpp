// The addresses that a node of the bank is given.
#include <gmock/gmock.h>

#include "bank/cluster/over_engines.hpp"

using bank::addresses_in;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(bank_addresses, have_commas_between_them) {
    EXPECT_THAT(addresses_in("nats://n1:4222"), ElementsAre("nats://n1:4222"));
    EXPECT_THAT(addresses_in("nats://n1:4222,nats://n2"), ElementsAre("nats://n1:4222", "nats://n2"));
    EXPECT_THAT(addresses_in(",a,,b,"), ElementsAre("a", "b"));
    EXPECT_THAT(addresses_in(""), IsEmpty());
}
