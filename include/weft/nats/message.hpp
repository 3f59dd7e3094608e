// message.hpp - what is published and received: a subject, a payload, and perhaps headers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::nats {

/// The header fields of a message, in order. Names are compared as they are spelled, as NATS does.
class WEFT_EXPORT headers {
public:
    using field = std::pair<std::string, std::string>;

    headers() noexcept = default;
    headers(std::initializer_list<field> all) : fields_(all) {}

    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    /// \returns   the value of the first field of that name; empty if there is none.
    /// \lifetime  until the next change.
    [[nodiscard]] std::string_view get(std::string_view name) const noexcept;

    [[nodiscard]] bool empty() const noexcept { return fields_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
    [[nodiscard]] auto begin() const noexcept { return fields_.begin(); }
    [[nodiscard]] auto end() const noexcept { return fields_.end(); }

    friend bool operator==(const headers&, const headers&) = default;

private:
    std::vector<field> fields_;
};

struct WEFT_EXPORT message {
    std::string subject;
    std::string reply;  ///< where an answer is to be published; empty: none is wanted
    std::string payload;
    nats::headers headers;

    /// \returns  the status that a server has put into the headers, such as 503 for "no responders";
    ///           0 for a message of a client. The field "Description" has its words.
    [[nodiscard]] int status() const noexcept;

    friend bool operator==(const message&, const message&) = default;
};

}  // namespace weft::nats
