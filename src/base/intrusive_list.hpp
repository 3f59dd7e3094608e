// intrusive_list.hpp - a doubly linked list whose links live in the elements.
//
// It takes no lock and owns nothing.
//
// Invariants
//   INTRUSIVE_LIST-1  An element is in one list or in none; `linked()` tells which.
//   INTRUSIVE_LIST-2  The list never touches an element that is not linked into it.
//   INTRUSIVE_LIST-3  next_ is null in an element that is in no list, and points to the element
//                     itself in the last one of a list. So "linked" needs no word of its own, and an
//                     element of zeros is in no list.
#pragma once

#include "base/panic.hpp"

namespace weft::detail {

template <class T>
class intrusive_list;

/// Base of elements of intrusive_list<T>.
template <class T>
class list_hook {
public:
    list_hook() noexcept = default;
    list_hook(const list_hook&) = delete;  // a copy would seem to be in the list
    list_hook& operator=(const list_hook&) = delete;

    bool linked() const noexcept { return next_ != nullptr; }

private:
    friend class intrusive_list<T>;
    T* next_ = nullptr;  // INTRUSIVE_LIST-3
    T* prev_ = nullptr;  // null in the first one
};

template <class T>
class intrusive_list {
public:
    intrusive_list() noexcept = default;
    intrusive_list(const intrusive_list&) = delete;
    intrusive_list& operator=(const intrusive_list&) = delete;

    bool empty() const noexcept { return head_ == nullptr; }
    T* front() const noexcept { return head_; }
    /// The element behind `e`, which is in this list. Null behind the last one.
    T* next(const T& e) const noexcept {
        T* const n = hook(e).next_;
        return n == &e ? nullptr : n;
    }

    void push_back(T& e) noexcept {
        auto& h = hook(e);
        require(!h.linked(), "INTRUSIVE_LIST-1: an element is in one list at a time");
        h.next_ = &e;
        h.prev_ = tail_;
        (tail_ ? hook(*tail_).next_ : head_) = &e;
        tail_ = &e;
    }

    void push_front(T& e) noexcept {
        auto& h = hook(e);
        require(!h.linked(), "INTRUSIVE_LIST-1: an element is in one list at a time");
        h.next_ = head_ ? head_ : &e;
        h.prev_ = nullptr;
        (head_ ? hook(*head_).prev_ : tail_) = &e;
        head_ = &e;
    }

    /// Takes `e` out of the list. Does nothing if `e` is in no list.
    void remove(T& e) noexcept {
        auto& h = hook(e);
        if (!h.linked()) return;
        T* const behind = next(e);
        T* const before = h.prev_;
        if (before)
            hook(*before).next_ = behind ? behind : before;
        else
            head_ = behind;
        (behind ? hook(*behind).prev_ : tail_) = before;
        h.next_ = h.prev_ = nullptr;
    }

    T* pop_front() noexcept {
        T* const e = head_;
        if (!e) return nullptr;
        head_ = next(*e);
        (head_ ? hook(*head_).prev_ : tail_) = nullptr;
        hook(*e).next_ = nullptr;
        return e;
    }

private:
    static list_hook<T>& hook(T& e) noexcept { return e; }
    static const list_hook<T>& hook(const T& e) noexcept { return e; }

    T* head_ = nullptr;
    T* tail_ = nullptr;
};

}  // namespace weft::detail
