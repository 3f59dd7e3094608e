// intrusive_list.hpp - a doubly linked list whose links live in the elements.
//
// It takes no lock and owns nothing.
//
// Invariants
//   INTRUSIVE_LIST-1  An element is in one list or in none; `linked()` tells which.
//   INTRUSIVE_LIST-2  The list never touches an element that is not linked into it.
#pragma once

#include "base/panic.hpp"

namespace weft::detail {

template <class T>
class intrusive_list;

/// Base of elements of intrusive_list<T>.
template <class T>
class list_hook {
public:
    bool linked() const noexcept { return linked_; }

private:
    friend class intrusive_list<T>;
    T* next_ = nullptr;
    T* prev_ = nullptr;
    bool linked_ = false;
};

template <class T>
class intrusive_list {
public:
    intrusive_list() noexcept = default;
    intrusive_list(const intrusive_list&) = delete;
    intrusive_list& operator=(const intrusive_list&) = delete;

    bool empty() const noexcept { return head_ == nullptr; }
    T* front() const noexcept { return head_; }
    T* next(const T& e) const noexcept { return hook(e).next_; }

    void push_back(T& e) noexcept {
        auto& h = hook(e);
        require(!h.linked_, "INTRUSIVE_LIST-1: an element is in one list at a time");
        h.next_ = nullptr;
        h.prev_ = tail_;
        h.linked_ = true;
        (tail_ ? hook(*tail_).next_ : head_) = &e;
        tail_ = &e;
    }

    void push_front(T& e) noexcept {
        auto& h = hook(e);
        require(!h.linked_, "INTRUSIVE_LIST-1: an element is in one list at a time");
        h.next_ = head_;
        h.prev_ = nullptr;
        h.linked_ = true;
        (head_ ? hook(*head_).prev_ : tail_) = &e;
        head_ = &e;
    }

    /// Takes `e` out of the list. Does nothing if `e` is in no list.
    void remove(T& e) noexcept {
        auto& h = hook(e);
        if (!h.linked_) return;
        (h.prev_ ? hook(*h.prev_).next_ : head_) = h.next_;
        (h.next_ ? hook(*h.next_).prev_ : tail_) = h.prev_;
        h.next_ = h.prev_ = nullptr;
        h.linked_ = false;
    }

    T* pop_front() noexcept {
        T* const e = head_;
        if (!e) return nullptr;
        auto& h = hook(*e);
        head_ = h.next_;
        (head_ ? hook(*head_).prev_ : tail_) = nullptr;
        h.next_ = nullptr;
        h.linked_ = false;
        return e;
    }

private:
    static list_hook<T>& hook(T& e) noexcept { return e; }
    static const list_hook<T>& hook(const T& e) noexcept { return e; }

    T* head_ = nullptr;
    T* tail_ = nullptr;
};

}  // namespace weft::detail
