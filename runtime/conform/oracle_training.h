// Maps the ops of the case files that belong to training: gradients, losses, optimisers, schedules, clipping.
#pragma once

#include "runtime/conform/oracle_calls.h"

namespace vantage::internal::oracle {

const OracleMaps& training_maps();

}  // namespace vantage::internal::oracle
