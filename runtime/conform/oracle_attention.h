// Maps the attention ops of the case files to calls.
#pragma once

#include "runtime/conform/oracle_calls.h"

namespace vantage::internal::oracle {

const OracleMaps& attention_maps();

}  // namespace vantage::internal::oracle
