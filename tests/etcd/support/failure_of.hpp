// failure_of.hpp - the error of a call that must fail.
#pragma once

#include <gtest/gtest.h>

#include <weft/etcd/error.hpp>

namespace weft::test {

template <class F>
etcd::error failure_of(F&& f) {
    try {
        f();
    } catch (const etcd::error& e) {
        return e;
    }
    ADD_FAILURE() << "no error";
    return {etcd::etcd_errc::server, "", false};
}

}  // namespace weft::test
