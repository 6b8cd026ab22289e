// SPDX-License-Identifier: Apache-2.0
// The shared library is made of the layers; this file only gives CMake a source.
