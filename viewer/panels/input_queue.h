// Input events on their way to the toolkit.
#pragma once

#include <deque>
#include <functional>

#include "viewer/draw/toolkit.h"

namespace vantage::view {

/// Events wait for the next picture. A picture delivers at most one key or button event, and no change of modifiers
/// after it: a press and a release between two pictures then reach the toolkit as two.
class InputQueue {
public:
    enum class Order : std::uint8_t { any, not_after_key, key };
    void add(std::function<void(ImGuiIO&)> event, Order order = Order::any) {
        events_.push_back({std::move(event), order});
    }
    /// Delivers the events of one picture; false when some are left for the next.
    bool deliver(ImGuiIO& io) {
        bool key = false;
        while (!events_.empty() && !(key && events_.front().order != Order::any)) {
            key = key || events_.front().order == Order::key;
            events_.front().tell(io);
            events_.pop_front();
        }
        return events_.empty();
    }

private:
    struct Event {
        std::function<void(ImGuiIO&)> tell;
        Order order;
    };
    std::deque<Event> events_;
};

}  // namespace vantage::view
