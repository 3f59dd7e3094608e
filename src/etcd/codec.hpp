// codec.hpp - requests and answers of etcd as JSON; keys with the name space of the client before them.
#pragma once

#include <string>
#include <string_view>

#include <weft/etcd/kv.hpp>
#include <weft/etcd/watch.hpp>

#include "etcd/json.hpp"

namespace weft::detail::etcd {

class codec {
public:
    explicit codec(std::string name_space) : name_space_(std::move(name_space)) {}

    [[nodiscard]] json range(const weft::etcd::key_range&, const weft::etcd::range_options&) const;
    [[nodiscard]] json put(std::string_view key, std::string_view value, const weft::etcd::put_options&) const;
    [[nodiscard]] json remove(const weft::etcd::key_range&, const weft::etcd::remove_options&) const;
    [[nodiscard]] json txn(const weft::etcd::transaction&) const;
    [[nodiscard]] json watch(const weft::etcd::key_range&, const weft::etcd::watch_options&,
                             weft::etcd::revision_number from) const;

    // These throw bad_answer.
    [[nodiscard]] weft::etcd::range_result range_of(const json& answer) const;
    [[nodiscard]] weft::etcd::put_result put_of(const json& answer) const;
    [[nodiscard]] weft::etcd::remove_result remove_of(const json& answer) const;
    [[nodiscard]] weft::etcd::txn_result txn_of(const json& answer) const;
    [[nodiscard]] weft::etcd::event event_of(const json& event) const;
    /// A key as the user knows it.
    [[nodiscard]] std::string own_key(std::string key) const;

private:
    void add_keys(json& request, const weft::etcd::key_range&) const;
    [[nodiscard]] json operation(const weft::etcd::operation&) const;
    [[nodiscard]] json compare(const weft::etcd::condition&) const;
    [[nodiscard]] weft::etcd::key_value kv_of(const json&) const;
    [[nodiscard]] weft::etcd::response response_of(const json&) const;

    std::string name_space_;
};

[[nodiscard]] weft::etcd::revision_number revision_of(const json& answer);

}  // namespace weft::detail::etcd
