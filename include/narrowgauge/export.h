// SPDX-License-Identifier: Apache-2.0
// Marks what the shared library exports; everything else is hidden.
#pragma once

// Marks a class, function or variable that the shared library exports.
#define NG_API __attribute__((visibility("default")))
