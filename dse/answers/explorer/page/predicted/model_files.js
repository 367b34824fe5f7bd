// A model from a config.json of the Hugging Face Hub, as dse/inputs/models reads dense families with rotary positions.
import { inputError } from "./plans.js";

const TYPES = ["llama", "mistral", "qwen2", "qwen3"];
const BATCH = 512; // no such file says one
const DEFAULT_SHARE = 3; // passes: forward, and twice its operations backwards

function countOf(read, key, fallback) {
  const value = read[key] ?? fallback;
  if (!Number.isSafeInteger(value) || value < 1) throw inputError(`config.json: ${key} is ${JSON.stringify(read[key] ?? null)}; it must be a positive integer`);
  return value;
}

const hasWindow = (read, length) => read.sliding_window && read.use_sliding_window !== false && read.sliding_window < length;

/** The model of a text: what constraints, fields and the engine need of it. */
function modelOf(text, name) {
  let read;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw inputError(`config.json: ${error.message}`);
  }
  const type = read?.model_type;
  const otherwise = "python -m dse sweep model.file=config.json reads others";
  if (!TYPES.includes(type)) throw inputError(`config.json: model_type is ${JSON.stringify(type ?? null)}; this page reads ${TYPES.join(", ")}: ${otherwise}`);
  const length = countOf(read, "max_position_embeddings");
  if (hasWindow(read, length)) throw inputError(`config.json: sliding_window is ${read.sliding_window}; this page reads models whose tokens see all others: ${otherwise}`);
  const [vocabulary, width, heads, layers, feedForward] = ["vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size"].map((key) => countOf(read, key));
  const keyHeads = countOf(read, "num_key_value_heads", heads);
  const headWidth = countOf(read, "head_dim", width / heads);
  const hasBias = type === "qwen2" || Boolean(read.attention_bias);
  const shapes = [
    [1, 0, width, heads * headWidth], [2, 0, width, keyHeads * headWidth], [3, 0, width, keyHeads * headWidth], [0, 0, heads * headWidth, width],
    [0, 3, width, feedForward], [0, 3, width, feedForward], [5, 3, feedForward, width],
  ];
  const matrices = shapes.map(([number, part, inputs, outputs], shape) => ({
    inputs, outputs, count: 1, has_bias: hasBias && shape < 3, name: number, part, is_row_split: shape === 3 || shape === 6,
    is_whole: false, is_adapted: false, shape,
  }));
  const weights = matrices.reduce((sum, { inputs, outputs }) => sum + inputs * outputs, 0);
  const sizes = { d_model: width, d_ff: feedForward, num_heads: heads, num_layers: layers, input_dim: vocabulary, output_dim: vocabulary, seq_len: length, batch_size: BATCH };
  const record = {
    name, ...sizes, key_value_heads: keyHeads, key_width: headWidth, value_width: headWidth, prediction_layers: 0,
    tied_embeddings: Boolean(read.tie_word_embeddings), gated_mlp: true, biases: false, post_norms: false, query_key_norms: type === "qwen3", dropout: Boolean(read.attention_dropout),
    position_parameters: 0, final_norm_parameters: width, experts: null, latent: null, sparse: null, state_space: null, lora: null,
    kinds: [{
      mixer: 1, feed_forward: 1, is_prediction: false, mean_keys: length / 2, vectors: 0,
      norms: 2 * width + (type === "qwen3" ? 2 * headWidth : 0), matrices, adapters: [], latest_keys: null, is_chunked: false, state_elements: 0,
    }],
    runs: [{ kind: 0, count: layers }],
    flops: { matrix_products: DEFAULT_SHARE * 2 * layers * weights, logits: DEFAULT_SHARE * 2 * width * vocabulary },
  };
  return { ...sizes, name, num_kv_heads: keyHeads, gated_mlp: true, micro_batches: null, repairs: {}, record };
}

export { modelOf };
