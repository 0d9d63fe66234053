// Package demo is the small weather server that mcpctl carries in itself, so
// that everything can be tried without installing a server. It invents its
// weather, the same for everybody and always.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type place struct {
	Name    string  `json:"name"`
	Country string  `json:"country"`
	Lat     float64 `json:"lat"`
	Lon     float64 `json:"lon"`
}

var places = []place{
	{"Berlin", "DE", 52.52, 13.405},
	{"Lisbon", "PT", 38.722, -9.139},
	{"Nairobi", "KE", -1.286, 36.817},
	{"Oslo", "NO", 59.913, 10.752},
	{"Paris", "FR", 48.857, 2.352},
	{"Tokyo", "JP", 35.69, 139.692},
}

func find(city string) (place, error) {
	i := slices.IndexFunc(places, func(p place) bool { return strings.EqualFold(p.Name, city) })
	if i < 0 {
		return place{}, fmt.Errorf("no city is called %q; find_city lists those there are", city)
	}
	return places[i], nil
}

type forecastInput struct {
	City  string `json:"city"`
	Days  int    `json:"days"`
	Units string `json:"units"`
}

type day struct {
	Day     int     `json:"day"`
	Sky     string  `json:"sky"`
	High    float64 `json:"high"`
	Low     float64 `json:"low"`
	Warning *string `json:"warning"`
}

type forecast struct {
	City  place  `json:"city"`
	Units string `json:"units"`
	Days  []day  `json:"days"`
}

const forecastInputSchema = `{
	"type": "object",
	"properties": {
		"city": {"type": "string", "description": "Name of the city, as find_city gives it."},
		"days": {"type": "integer", "description": "Number of days, today included.", "minimum": 1, "maximum": 7, "default": 3},
		"units": {"type": "string", "description": "Units of temperatures.", "enum": ["metric", "imperial"], "default": "metric"}
	},
	"required": ["city"],
	"additionalProperties": false
}`

const placeSchema = `{
	"type": "object",
	"description": "A city and where it lies.",
	"properties": {
		"name": {"type": "string"},
		"country": {"type": "string", "description": "ISO 3166-1 code of two letters."},
		"lat": {"type": "number"},
		"lon": {"type": "number"}
	},
	"required": ["name", "country", "lat", "lon"]
}`

const forecastOutputSchema = `{
	"type": "object",
	"properties": {
		"city": {"$ref": "#/$defs/place"},
		"units": {"type": "string", "enum": ["metric", "imperial"]},
		"days": {"type": "array", "items": {"$ref": "#/$defs/day"}}
	},
	"required": ["city", "units", "days"],
	"$defs": {
		"place": ` + placeSchema + `,
		"day": {
			"type": "object",
			"description": "The weather of one day.",
			"properties": {
				"day": {"type": "integer", "description": "Days from today; today is 0."},
				"sky": {"type": "string", "enum": ["clear", "cloudy", "rain", "snow"]},
				"high": {"type": "number"},
				"low": {"type": "number"},
				"warning": {"type": ["string", "null"], "description": "What to beware of, or null."}
			},
			"required": ["day", "sky", "high", "low", "warning"]
		}
	}
}`

func getForecast(_ context.Context, _ *mcp.CallToolRequest, in forecastInput) (*mcp.CallToolResult, forecast, error) {
	city, err := find(in.City)
	if err != nil {
		return nil, forecast{}, err
	}
	out := forecast{City: city, Units: in.Units, Days: []day{}}
	for n := range in.Days {
		out.Days = append(out.Days, weather(city, n, in.Units))
	}
	return nil, out, nil
}

// weather invents the weather of a day, the same at every call.
func weather(city place, n int, units string) day {
	h := fnv.New32a()
	fmt.Fprint(h, city.Name, n)
	roll := int(h.Sum32() >> 8)
	// Warmer towards the equator.
	high := 32 - max(city.Lat, -city.Lat)/2 + float64(roll%9) - 4
	d := day{Day: n, Sky: []string{"clear", "cloudy", "rain"}[roll/9%3], High: high, Low: high - 4 - float64(roll/27%6)}
	if d.Sky == "rain" && d.Low < 0 {
		d.Sky = "snow"
	}
	if roll/162%4 == 0 {
		d.Warning = new("strong wind")
	}
	if units == "imperial" {
		d.High, d.Low = d.High*9/5+32, d.Low*9/5+32
	}
	d.High, d.Low = round(d.High), round(d.Low)
	return d
}

func round(x float64) float64 { return float64(int(x*10)) / 10 }

type findInput struct {
	Query string `json:"query"`
}

type found struct {
	Cities []place `json:"cities"`
}

const findInputSchema = `{
	"type": "object",
	"properties": {
		"query": {"type": "string", "description": "Part of the name; all cities when it is empty.", "default": ""}
	},
	"additionalProperties": false
}`

const findOutputSchema = `{
	"type": "object",
	"properties": {"cities": {"type": "array", "items": ` + placeSchema + `}},
	"required": ["cities"]
}`

func findCity(_ context.Context, _ *mcp.CallToolRequest, in findInput) (*mcp.CallToolResult, found, error) {
	out := found{Cities: []place{}}
	for _, p := range places {
		if strings.Contains(strings.ToLower(p.Name), strings.ToLower(in.Query)) {
			out.Cities = append(out.Cities, p)
		}
	}
	return nil, out, nil
}

type observation struct {
	City     string         `json:"city"`
	Sky      string         `json:"sky"`
	Readings map[string]any `json:"readings"`
}

const observationSchema = `{
	"type": "object",
	"properties": {
		"city": {"type": "string"},
		"sky": {"type": "string", "enum": ["clear", "cloudy", "rain", "snow"]},
		"readings": {
			"type": "object",
			"description": "Values by instrument.",
			"additionalProperties": {"type": "number"}
		}
	},
	"required": ["city", "sky"]
}`

func reportObservation(_ context.Context, _ *mcp.CallToolRequest, in observation) (*mcp.CallToolResult, any, error) {
	city, err := find(in.City)
	if err != nil {
		return nil, nil, err
	}
	text := fmt.Sprintf("Thank you: %s in %s, %d readings. Nothing is kept.", in.Sky, city.Name, len(in.Readings))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// New returns the demo server. Version is that of the program.
func New(version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcpctl-demo", Title: "Demo weather", Version: version}, &mcp.ServerOptions{
		Capabilities:      &mcp.ServerCapabilities{},
		CompletionHandler: complete,
		Instructions:      "Find a city with find_city, then ask for its forecast with get_forecast.",
	})
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(s, &mcp.Tool{
		Name: "find_city", Title: "Find a city", Description: "Finds cities by a part of their name.",
		InputSchema: json.RawMessage(findInputSchema), OutputSchema: json.RawMessage(findOutputSchema), Annotations: readOnly,
	}, findCity)
	mcp.AddTool(s, &mcp.Tool{
		Name: "get_forecast", Title: "Forecast", Description: "Gives the weather of the coming days in a city.",
		InputSchema: json.RawMessage(forecastInputSchema), OutputSchema: json.RawMessage(forecastOutputSchema), Annotations: readOnly,
	}, getForecast)
	mcp.AddTool(s, &mcp.Tool{
		Name: "report_observation", Title: "Report an observation", Description: "Reports what the weather is like outside. It has no output schema.",
		InputSchema: json.RawMessage(observationSchema), Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, reportObservation)
	addResources(s)
	addPrompt(s)
	return s
}

const (
	citiesURI    = "weather://cities"
	cityTemplate = citiesURI + "/{name}"
	packingList  = "packing_list"
)

func addResources(s *mcp.Server) {
	s.AddResource(&mcp.Resource{
		Name: "cities", Title: "All cities", URI: citiesURI, MIMEType: "application/json",
		Description: "The cities that the tools know.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return asJSON(req.Params.URI, places)
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "city", Title: "One city", URITemplate: cityTemplate, MIMEType: "application/json",
		Description: "A city and where it lies.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		p, err := find(strings.TrimPrefix(req.Params.URI, citiesURI+"/"))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return asJSON(req.Params.URI, p)
	})
}

func asJSON(uri string, v any) (*mcp.ReadResourceResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(data)}}}, nil
}

func addPrompt(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: packingList, Title: "Packing list", Description: "Asks what to pack for a journey.",
		Arguments: []*mcp.PromptArgument{{Name: "city", Description: "Where the journey goes.", Required: true}},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := fmt.Sprintf("Ask get_forecast for the weather in %s, then list what to pack.", req.Params.Arguments["city"])
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}

// complete completes cities: what both the prompt and the template ask for.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	ref, argument := req.Params.Ref, req.Params.Argument
	result := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	known := map[mcp.CompleteReference]string{
		{Type: "ref/prompt", Name: packingList}:   "city",
		{Type: "ref/resource", URI: cityTemplate}: "name",
	}
	switch known[*ref] {
	case "":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is nothing of that name to complete"}
	case argument.Name:
	default:
		return result, nil
	}
	for _, p := range places {
		if strings.HasPrefix(strings.ToLower(p.Name), strings.ToLower(argument.Value)) {
			result.Completion.Values = append(result.Completion.Values, p.Name)
		}
	}
	result.Completion.Total = len(result.Completion.Values)
	return result, nil
}
