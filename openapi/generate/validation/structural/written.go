package main

import "encoding/json"

// Cases that chance would seldom make: schema, object and, for an update, what it was.
var texts3 = [][3]string{
	{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer","default":1},"b":{"type":"integer","default":2,"nullable":true},"c":{"type":"integer"},"l":{"type":"array","items":{"type":"string","default":"x"}},"m":{"type":"object","additionalProperties":{"type":"string","default":"y"}}}}}}`, `{"spec":{"a":null,"b":null,"c":null,"l":[null,"a"],"m":{"k":null}}}`, ``},
	{`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":true}}}`, `{"spec":{"a":{"b":1},"c":[{"d":1}],"e":2}}`, ``},
	{`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"l":{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object","properties":{"a":{"type":"object"}}}}}}`, `{"x":{"y":1},"l":[{"a":{"b":1},"c":{"d":1}},[{"e":1}]]}`, ``},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["z"],"properties":{"k":{"type":"string"},"v":{"type":"string","maxLength":1}}}}}}`, `{"l":[{"k":"b","v":"long"},{"k":"a","v":"long"},{"k":"c","v":"long"}]}`, `{"l":[{"k":"a","v":"long"},{"k":"b","v":"long"}]}`},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","p"],"items":{"type":"object","properties":{"k":{"type":"string"},"p":{"type":"integer"}}}}}}`, `{"l":[{"k":"a","p":1},{"k":"a"},{"k":"a","p":1},null,{"k":"a"},{}]}`, ``},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}`, `{"l":["a","b","a","b","a"]}`, ``},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}`, `{"l":["a","b","a"]}`, `{"l":["c","c"]}`},
	{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"integer","maximum":1}}}}}`, `{"spec":{"a":"y","b":5}}`, `{"spec":{"a":"y","b":4}}`},
	{`{"type":"object","properties":{"spec":{"type":"object","required":["z"],"properties":{"a":{"type":"string"}}}}}`, `{"spec":{"a":"y"}}`, `{"spec":{"a":"y"}}`},
	{`{"type":"object","properties":{"spec":{"type":"object","required":["z"],"x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}}}`, `{"spec":{"a":"y","u":1}}`, `{"spec":{"a":"y","u":1}}`},
	{`{"type":"object","properties":{"kind":{"type":"string","enum":["A"]},"spec":{"type":"object","properties":{"kind":{"type":"string","enum":["A"]}}}}}`, `{"kind":"B","spec":{"kind":"B"}}`, `{"kind":"B","spec":{"kind":"B"}}`},
	{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","maxLength":1}},"allOf":[{"properties":{"a":{"maxLength":2}}}]}}}`, `{"spec":{"a":"long"}}`, `{"spec":{"a":"long"}}`},
	{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","maxLength":1}},"allOf":[{"properties":{"a":{"maxLength":2}}}]}}}`, `{"spec":{"a":"long","b":1}}`, `{"spec":{"a":"long"}}`},
	{`{"type":"object","properties":{"n":{"type":"number"},"i":{"type":"integer"},"s":{"type":"string","enum":["<&>"]}}}`, `{"n":123456789.5,"i":12345678901234567890,"s":"<&>\u2028"}`, ``},
	{`{"type":"object","properties":{"n":{"type":"number","maximum":1},"m":{"type":"number","multipleOf":0.01},"o":{"type":"object","properties":{"x":{"type":"string"}},"enum":[{"x":"a"}]}}}`, `{"n":1234567.25,"m":19.99,"o":{"x":"<b>"}}`, ``},
}

func written() [][3]any {
	var result [][3]any
	for _, texts := range texts3 {
		var values [3]any
		for at, text := range texts {
			if text == "" {
				continue
			}
			if err := json.Unmarshal([]byte(text), &values[at]); err != nil {
				panic(err)
			}
		}
		result = append(result, values)
	}
	return result
}
