// The built-in model on the tests' device, loaded once.
#pragma once

#include "test_device.h"
#include "vantage/model.h"

inline const vantage::Model& mini_world() {
    static const vantage::Model model = vantage::Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world");
    return model;
}
