// The version of results: a part of the key of every design point.
#pragma once

namespace dse {

/// Raised by one whenever any result may change, so that stored rows of older results are computed again.
/// tests/studies/points/test_result_version.py notices when results change without that.
inline constexpr int kResultVersion = 1;

}  // namespace dse
