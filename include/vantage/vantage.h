// All of Vantage except what needs other libraries: train.h, vulkan.h, view.h and view_vulkan.h. Kernels:
// custom_kernel.h.
//
// Threads: each header says which; docs/guarantees.md has them in one table.
// Errors: vantage::Error, as error.h describes, or std::bad_alloc.
#pragma once

#include "vantage/array.h"
#include "vantage/batch.h"
#include "vantage/caps.h"
#include "vantage/device.h"
#include "vantage/error.h"
#include "vantage/graph.h"
#include "vantage/log.h"
#include "vantage/model.h"
#include "vantage/ops.h"
#include "vantage/plan.h"
#include "vantage/session.h"
#include "vantage/tensor.h"
#include "vantage/tokenizer.h"
