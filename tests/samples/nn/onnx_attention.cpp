// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/onnx_attention.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<OnnxAttention>> onnx_attention_samples() {
  const auto lengths = sample(Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{5, 2}));
  return {
      {{}, {sample("f32[2,2,3,4]"), sample("f32[2,2,5,4]"), sample("f32[2,2,5,6]")}},
      {{.is_causal = 1,
        .kv_num_heads = 1,
        .q_num_heads = 2,
        .qk_matmul_output_mode = 3,
        .scale = 0.3},
       {sample("f32[2,3,8]"), sample("f32[2,4,4]"), sample("f32[2,4,4]"), sample("f32[3,7]"),
        sample("f32[2,1,3,4]"), sample("f32[2,1,3,4]")}},
      {{.is_causal = 1, .qk_matmul_output_mode = 1, .softcap = 2},
       {sample("f32[2,4,3,2]"), sample("f32[2,2,5,2]"), sample("f32[2,2,5,3]"),
        sample(Tensor::full(DType::boolean, {1, 1, 1, 4}, 1)), no_sample(), no_sample(), lengths}},
      {{.left_window_size = 1, .right_window_size = 2, .softmax_precision = 11},
       {sample("f32[1,2,6,4]"), sample("f32[1,2,6,4]"), sample("f32[1,2,6,4]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(onnx_attention, onnx_attention_samples())
