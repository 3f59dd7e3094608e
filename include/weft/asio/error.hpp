// error.hpp - error codes of the standard library as those of Boost.
#pragma once

#include <weft/detail/requirements.hpp>

#include <boost/system/error_code.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

namespace weft::detail {

/// A category of the standard library, for Boost.
class boost_category final : public boost::system::error_category {
public:
    explicit boost_category(const std::error_category& of) noexcept : of_(of) {}

    const char* name() const noexcept override { return of_.name(); }
    std::string message(int value) const override { return of_.message(value); }

    /// The one for `of`. They are kept for good, as error codes refer to them.
    static const boost_category& for_category(const std::error_category& of) {
        static std::mutex lock;
        static auto& all = *new std::map<const std::error_category*, std::unique_ptr<boost_category>>;
        const std::lock_guard guard(lock);
        auto& made = all[&of];
        if (!made) made = std::make_unique<boost_category>(of);
        return *made;
    }

private:
    const std::error_category& of_;
};

/// Converts an error to one of Boost. System and generic errors, and errors that mean one of them, compare equal to
/// those of Boost.
inline boost::system::error_code to_boost(const std::error_code& e) {
    if (!e) return {};
    if (e.category() == std::system_category()) return {e.value(), boost::system::system_category()};
    if (e.category() == std::generic_category()) return {e.value(), boost::system::generic_category()};
    if (const auto meaning = e.default_error_condition(); meaning.category() == std::generic_category())
        return {meaning.value(), boost::system::generic_category()};
    return {e.value(), boost_category::for_category(e.category())};
}

}  // namespace weft::detail
