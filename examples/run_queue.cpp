// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Cooperative tasks on lathwork::run_queue: producers and a consumer share a mailbox, take turns,
// and an urgent task overtakes everybody. Nothing is allocated by the queue. The program checks its
// own result.
#include <lathwork/cxx/split_list.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

class task {
public:
    virtual ~task() = default;
    // One turn. True: wants another one.
    virtual bool turn() = 0;
    virtual const char* name() const = 0;
    task* next; // the queue's; needs no value
};

using queue = lathwork::run_queue<task, &task::next>;

struct mailbox {
    int letters = 0;
    int delivered = 0;
    bool closed = false;
};

class producer final : public task {
public:
    producer(mailbox& box, int letters) : box_(box), left_(letters) {}
    bool turn() override {
        ++box_.letters;
        return --left_ > 0;
    }
    const char* name() const override { return "producer"; }

private:
    mailbox& box_;
    int left_;
};

class consumer final : public task {
public:
    explicit consumer(mailbox& box) : box_(box) {}
    bool turn() override {
        box_.delivered += box_.letters;
        box_.letters = 0;
        return !box_.closed;
    }
    const char* name() const override { return "consumer"; }

private:
    mailbox& box_;
};

class closer final : public task {
public:
    explicit closer(mailbox& box) : box_(box) {}
    bool turn() override {
        box_.closed = true;
        return false;
    }
    const char* name() const override { return "closer"; }

private:
    mailbox& box_;
};

void expect(bool right, const char* what) {
    if (!right) {
        std::fprintf(stderr, "run_queue: unexpected: %s\n", what);
        std::exit(1);
    }
}

} // namespace

int main() {
    mailbox box;
    producer one(box, 5), two(box, 3);
    consumer reader(box);
    closer last(box);

    queue ready;
    ready.push_back(one);
    ready.push_back(two);
    ready.push_back(reader);

    auto take_turn = [&](task& t) {
        std::printf("%s ", t.name());
        if (t.turn())
            ready.push_back(t);
    };

    // Three turns, then look around, as a reactor does between polls.
    while (box.delivered + box.letters < 8 || ready.size() > 1) {
        ready.run(take_turn, 3);
        std::printf("| queued:");
        ready.for_each([](const task& t) { std::printf(" %s", t.name()); });
        std::printf("\n");
    }

    ready.push_front(last); // urgent: before the consumer
    expect(ready.size() == 2, "number of queued tasks");
    ready.run(take_turn);
    expect(ready.empty(), "tasks left in the queue");
    expect(box.delivered == 8 && box.letters == 0, "number of letters");
    std::printf("\n%d letters delivered\n", box.delivered);
    return 0;
}
