// framework.hpp - a small web framework in the manner of the seed's (Martini): what it costs to have a handler handed all it needs.
//
// Every request has a context of its own: its parameters by name in a map, and services by type,
// which middleware adds. Middleware and handler are called one inside the other.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/http/server.hpp>

namespace variants {

class context {
public:
    explicit context(const weft::http::request& q) : asked_(q) {
        for (const auto& [name, value] : q.parts().path_parameters) parameters_.emplace(name, value);
    }

    const weft::http::request& asked() const noexcept { return asked_; }
    /// \throws  std::out_of_range
    const std::string& parameter(const std::string& name) const { return parameters_.at(name); }

    /// Makes a service known to whatever is called further inside.
    template <class T>
    void provide(T& service) {
        services_[typeid(T)] = &service;
    }
    /// \throws  std::out_of_range if no middleware has provided it.
    template <class T>
    T& service() const {
        return *std::any_cast<T*>(services_.at(typeid(T)));
    }

private:
    const weft::http::request& asked_;
    std::map<std::string, std::string> parameters_;
    std::unordered_map<std::type_index, std::any> services_;
};

/// Adds routes to a server. It outlives serving, since its routes refer to it.
class framework {
public:
    using handler = std::function<weft::http::response(context&)>;
    using middleware = std::function<weft::http::response(context&, const std::function<weft::http::response()>& next)>;

    explicit framework(weft::http::server& app) : app_(app) {}

    /// The middleware added first is the outermost. All of it is added before serving.
    void use(middleware around) { around_.push_back(std::move(around)); }

    void route(std::string_view method, std::string_view pattern, handler handle) {
        app_.route(method, pattern, [this, handle = std::move(handle)](const weft::http::request& q) {
            context c(q);
            return run(c, handle, 0);
        });
    }

private:
    weft::http::response run(context& c, const handler& handle, std::size_t depth) const {
        if (depth == around_.size()) return handle(c);
        return around_[depth](c, [&, depth] { return run(c, handle, depth + 1); });
    }

    weft::http::server& app_;
    std::vector<middleware> around_;
};

}  // namespace variants
