// kv.hpp - keys, values and transactions of etcd, as values.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace weft::etcd {

using revision_number = std::int64_t;
using lease_id = std::int64_t;  ///< 0: none

/// A key and what is stored under it. Both are bytes of any kind.
struct key_value {
    std::string key = {};
    std::string value = {};
    revision_number create_revision = 0;  ///< that made the key, this time
    revision_number mod_revision = 0;     ///< that wrote it last
    std::int64_t version = 0;             ///< how often it was written since it was made
    lease_id lease = 0;
};

/// One key or several that lie side by side.
struct key_range {
    std::string first = {};
    /// Behind the last one; empty: `first` alone; a zero byte: all from `first` on.
    std::string end = {};

    static key_range one(std::string_view key) { return {std::string(key), {}}; }
    /// All keys that begin so; an empty one is all keys.
    WEFT_EXPORT static key_range prefix(std::string_view begin);
    static key_range from(std::string_view key) { return {std::string(key), std::string(1, '\0')}; }
};

enum class sort_order { none, ascend, descend };
enum class sort_by { key, version, create_revision, mod_revision, value };

struct range_options {
    std::int64_t limit = 0;        ///< the most keys in the result; 0: all
    revision_number revision = 0;  ///< as the store was then; 0: as it is now
    bool keys_only = false;        ///< without values
    bool count_only = false;       ///< without keys
    /// Any server answers from what it has, which may be old; otherwise the answer is that of the cluster.
    bool serializable = false;
    sort_order order = sort_order::none;
    sort_by target = sort_by::key;
};

struct put_options {
    lease_id lease = 0;  ///< the key is removed when this lease ends
    bool prev = false;   ///< whether the result has what was there before
};

struct remove_options {
    bool prev = false;  ///< whether the result has what was removed
};

struct range_result {
    revision_number revision = 0;  ///< of the store when it answered
    std::vector<key_value> kvs = {};
    std::int64_t count = 0;  ///< of keys in the range, also beyond the limit
    bool more = false;       ///< whether the limit has cut the result
};

struct put_result {
    revision_number revision = 0;
    std::optional<key_value> previous = {};
};

struct remove_result {
    revision_number revision = 0;
    std::int64_t removed = 0;
    std::vector<key_value> previous = {};
};

struct txn_result;

/// What one operation of a transaction has answered.
///
/// Members throw std::bad_variant_access if the operation was of another kind.
class response {
public:
    template <class Result>
        requires(!std::same_as<std::remove_cvref_t<Result>, response>)
    explicit response(Result r) : result_(std::move(r)) {}

    [[nodiscard]] const range_result& range() const { return std::get<range_result>(result_); }
    [[nodiscard]] const put_result& put() const { return std::get<put_result>(result_); }
    [[nodiscard]] const remove_result& remove() const { return std::get<remove_result>(result_); }
    [[nodiscard]] const txn_result& txn() const { return *std::get<nested_result>(result_); }

private:
    using nested_result = std::shared_ptr<const txn_result>;

    std::variant<range_result, put_result, remove_result, nested_result> result_;
};

struct txn_result {
    bool succeeded = false;  ///< whether all conditions were true
    revision_number revision = 0;
    std::vector<response> responses = {};  ///< one for each operation of the branch, in order
};

/// Something about a key that a transaction compares; see transaction.
struct condition {
    enum class target : std::uint8_t { value, version, create_revision, mod_revision, lease };
    enum class relation : std::uint8_t { equal, not_equal, less, greater };

    std::string key = {};
    target what = target::value;
    relation how = relation::equal;
    std::string value = {};
    std::int64_t number = 0;
};

/// The left side of a comparison with `Right`, std::string_view or a number.
template <class Right>
struct compared {
    std::string key;
    condition::target what;

    [[nodiscard]] condition with(condition::relation how, Right right) const {
        condition c{.key = key, .what = what, .how = how};
        if constexpr (std::same_as<Right, std::string_view>) {
            c.value = right;
        } else {
            c.number = right;
        }
        return c;
    }
    friend condition operator==(const compared& a, Right b) { return a.with(condition::relation::equal, b); }
    friend condition operator!=(const compared& a, Right b) { return a.with(condition::relation::not_equal, b); }
    friend condition operator<(const compared& a, Right b) { return a.with(condition::relation::less, b); }
    friend condition operator>(const compared& a, Right b) { return a.with(condition::relation::greater, b); }
};

using compared_bytes = compared<std::string_view>;
using compared_number = compared<std::int64_t>;

/// `value_of("a") == "x"` is false for a key that is not there, and so are `!=`, `<` and `>`.
[[nodiscard]] inline compared_bytes value_of(std::string_view key) { return {std::string(key), condition::target::value}; }
/// These are 0 for a key that is not there: `create_revision_of("a") == 0`.
[[nodiscard]] inline compared_number version_of(std::string_view key) { return {std::string(key), condition::target::version}; }
[[nodiscard]] inline compared_number create_revision_of(std::string_view key) {
    return {std::string(key), condition::target::create_revision};
}
[[nodiscard]] inline compared_number mod_revision_of(std::string_view key) {
    return {std::string(key), condition::target::mod_revision};
}
[[nodiscard]] inline compared_number lease_of(std::string_view key) { return {std::string(key), condition::target::lease}; }

class transaction;

struct put_operation {
    std::string key, value;
    put_options options;
};
struct range_operation {
    key_range keys;
    range_options options;
};
struct remove_operation {
    key_range keys;
    remove_options options;
};
using operation = std::variant<put_operation, range_operation, remove_operation, std::shared_ptr<const transaction>>;

[[nodiscard]] inline operation put(std::string_view key, std::string_view value, put_options o = {}) {
    return put_operation{std::string(key), std::string(value), o};
}
[[nodiscard]] inline operation get(std::string_view key, range_options o = {}) { return range_operation{key_range::one(key), o}; }
[[nodiscard]] inline operation range(key_range keys, range_options o = {}) { return range_operation{std::move(keys), o}; }
[[nodiscard]] inline operation remove(std::string_view key, remove_options o = {}) {
    return remove_operation{key_range::one(key), o};
}
[[nodiscard]] inline operation remove(key_range keys, remove_options o = {}) { return remove_operation{std::move(keys), o}; }

/// Conditions, what is done if all are true, and what is done otherwise; all at one revision.
///
///     auto claim = weft::etcd::txn()
///                      .when(weft::etcd::create_revision_of("owner") == 0)
///                      .then(weft::etcd::put("owner", "me", {.lease = id}))
///                      .otherwise(weft::etcd::get("owner"));
///     if (db.txn(claim).succeeded) work();
///
/// A transaction may write a key only once.
class transaction {
public:
    template <std::same_as<condition>... C>
    transaction& when(C... c) {
        (conditions_.push_back(std::move(c)), ...);
        return *this;
    }
    template <std::convertible_to<operation>... O>
    transaction& then(O... o) {
        (then_.push_back(std::move(o)), ...);
        return *this;
    }
    template <std::convertible_to<operation>... O>
    transaction& otherwise(O... o) {
        (otherwise_.push_back(std::move(o)), ...);
        return *this;
    }
    /// Promises that doing it twice does what doing it once does, so that the client may repeat it when the
    /// answer was lost.
    transaction& idempotent() {
        idempotent_ = true;
        return *this;
    }

    [[nodiscard]] const std::vector<condition>& conditions() const noexcept { return conditions_; }
    [[nodiscard]] const std::vector<operation>& success() const noexcept { return then_; }
    [[nodiscard]] const std::vector<operation>& failure() const noexcept { return otherwise_; }
    [[nodiscard]] bool is_idempotent() const noexcept { return idempotent_; }

private:
    std::vector<condition> conditions_;
    std::vector<operation> then_, otherwise_;
    bool idempotent_ = false;
};

[[nodiscard]] inline transaction txn() { return {}; }
/// A transaction as an operation of another one.
[[nodiscard]] inline operation nested(transaction t) { return std::make_shared<const transaction>(std::move(t)); }

}  // namespace weft::etcd
