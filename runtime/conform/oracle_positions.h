// Maps the position, token and head ops of the case files to calls.
#pragma once

#include "runtime/conform/oracle_calls.h"

namespace vantage::internal::oracle {

const OracleMaps& position_maps();

}  // namespace vantage::internal::oracle
