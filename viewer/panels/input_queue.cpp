#include "viewer/panels/input_queue.h"

namespace vantage::view {

bool InputQueue::deliver(ImGuiIO& io) {
    bool key = false;
    while (!events_.empty() && !(key && events_.front().order != Order::any)) {
        key = key || events_.front().order == Order::key;
        events_.front().tell(io);
        events_.pop_front();
    }
    return events_.empty();
}

}  // namespace vantage::view
