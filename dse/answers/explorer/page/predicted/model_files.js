// A model from a config.json of the Hugging Face Hub, by the rules of the package.
import { jsonData } from "../../../../base/pages/json_text.js";
import { plain } from "../../../../base/pages/python.js";
import { configured } from "./rules.js";

/** The model of a text as a study stores it, and notes on what of the configuration it does not show. */
const modelOf = (text, name) => plain(configured(jsonData(text, "config.json"), name));

export { modelOf };
