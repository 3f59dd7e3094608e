// dialogue.cpp - a class that is a coroutine: it carries its data, names its method, and hands over to another one directly.
#include <weft/coroutine.hpp>

#include <iostream>
#include <string>
#include <utility>

class speaker : public weft::coroutine<> {
public:
    speaker(std::string name, int lines) : coroutine(&speaker::run), name_(std::move(name)), lines_(lines) {}
    ~speaker() override { unwind(); }  // run() may be suspended, and uses the members when its stack unwinds

    void answers(speaker& other) { partner_ = &other; }

private:
    void run() {
        for (int n = 1; n <= lines_; ++n) {
            std::cout << name_ << ' ' << n << '\n';
            if (partner_ != nullptr && partner_->state() != weft::coroutine_state::done) transfer_to(*partner_);
        }
    }

    std::string name_;
    int lines_;
    speaker* partner_ = nullptr;
};

int main() {
    speaker ann("ann", 2);
    speaker ben("ben", 3);
    ann.answers(ben);
    ben.answers(ann);
    while (ben.state() != weft::coroutine_state::done) ben.call();
}
