// Package hand holds what a person would write for the ten tools: plain structs
// of encoding/json. Benchmarks compare generated types with them.
package hand

import "encoding/json"

type AddTasksInput struct {
	Tasks []AddTasksInputTasksItem `json:"tasks"`
}

type AddTasksInputTasksItem struct {
	Content         string   `json:"content"`
	DeadlineDate    *string  `json:"deadlineDate,omitzero"`
	Description     *string  `json:"description,omitzero"`
	DueString       *string  `json:"dueString,omitzero"`
	Duration        *string  `json:"duration,omitzero"`
	IsUncompletable *bool    `json:"isUncompletable,omitzero"`
	Labels          []string `json:"labels,omitzero"`
	Order           *float64 `json:"order,omitzero"`
	ParentID        *string  `json:"parentId,omitzero"`
	Priority        *string  `json:"priority,omitzero"`
	ProjectID       *string  `json:"projectId,omitzero"`
	ResponsibleUser *string  `json:"responsibleUser,omitzero"`
	SectionID       *string  `json:"sectionId,omitzero"`
}

type AtlasListClustersOutput struct {
	Clusters    []AtlasListClustersOutputClustersItem `json:"clusters"`
	ProjectID   *string                               `json:"projectId,omitzero"`
	ProjectName *string                               `json:"projectName,omitzero"`
	TotalCount  float64                               `json:"totalCount"`
}

type AtlasListClustersOutputClustersItem struct {
	ClusterID         *string                    `json:"clusterId,omitzero"`
	ConnectionStrings map[string]json.RawMessage `json:"connectionStrings,omitzero"`
	InstanceSize      *string                    `json:"instanceSize,omitzero"`
	InstanceType      string                     `json:"instanceType"`
	MongoDbVersion    *string                    `json:"mongoDBVersion,omitzero"`
	Name              *string                    `json:"name,omitzero"`
	Paused            bool                       `json:"paused"`
	ProcessIDs        []string                   `json:"processIds,omitzero"`
	Provider          *string                    `json:"provider,omitzero"`
	Region            *string                    `json:"region,omitzero"`
	State             *string                    `json:"state,omitzero"`
}

type CreateFeatureFlagInput struct {
	Request CreateFeatureFlagInputRequest `json:"request"`
}

type CreateFeatureFlagInputRequest struct {
	FeatureFlagBody CreateFeatureFlagInputRequestFeatureFlagBody `json:"FeatureFlagBody"`
	Clone           *string                                      `json:"clone,omitzero"`
	ProjectKey      string                                       `json:"projectKey"`
}

type CreateFeatureFlagInputRequestFeatureFlagBody struct {
	ClientSideAvailability *CreateFeatureFlagInputRequestFeatureFlagBodyClientSideAvailability          `json:"clientSideAvailability,omitzero"`
	CustomProperties       map[string]CreateFeatureFlagInputRequestFeatureFlagBodyCustomPropertiesValue `json:"customProperties,omitzero"`
	Defaults               *CreateFeatureFlagInputRequestFeatureFlagBodyDefaults                        `json:"defaults,omitzero"`
	Description            *string                                                                      `json:"description,omitzero"`
	IncludeInSnippet       *bool                                                                        `json:"includeInSnippet,omitzero"`
	InitialPrerequisites   []CreateFeatureFlagInputRequestFeatureFlagBodyInitialPrerequisitesItem       `json:"initialPrerequisites,omitzero"`
	IsFlagOn               *bool                                                                        `json:"isFlagOn,omitzero"`
	Key                    string                                                                       `json:"key"`
	MaintainerID           *string                                                                      `json:"maintainerId,omitzero"`
	MaintainerTeamKey      *string                                                                      `json:"maintainerTeamKey,omitzero"`
	MigrationSettings      *CreateFeatureFlagInputRequestFeatureFlagBodyMigrationSettings               `json:"migrationSettings,omitzero"`
	Name                   string                                                                       `json:"name"`
	Purpose                *string                                                                      `json:"purpose,omitzero"`
	Tags                   []string                                                                     `json:"tags,omitzero"`
	Temporary              *bool                                                                        `json:"temporary,omitzero"`
	Variations             []CreateFeatureFlagInputRequestFeatureFlagBodyVariationsItem                 `json:"variations,omitzero"`
}

type CreateFeatureFlagInputRequestFeatureFlagBodyClientSideAvailability struct {
	UsingEnvironmentID bool `json:"usingEnvironmentId"`
	UsingMobileKey     bool `json:"usingMobileKey"`
}

type CreateFeatureFlagInputRequestFeatureFlagBodyCustomPropertiesValue struct {
	Name  string   `json:"name"`
	Value []string `json:"value"`
}

type CreateFeatureFlagInputRequestFeatureFlagBodyDefaults struct {
	OffVariation int64 `json:"offVariation"`
	OnVariation  int64 `json:"onVariation"`
}

type CreateFeatureFlagInputRequestFeatureFlagBodyInitialPrerequisitesItem struct {
	Key         string `json:"key"`
	VariationID string `json:"variationId"`
}

type CreateFeatureFlagInputRequestFeatureFlagBodyMigrationSettings struct {
	ContextKind *string `json:"contextKind,omitzero"`
	StageCount  int64   `json:"stageCount"`
}

type CreateFeatureFlagInputRequestFeatureFlagBodyVariationsItem struct {
	ID          *string         `json:"_id,omitzero"`
	Description *string         `json:"description,omitzero"`
	Name        *string         `json:"name,omitzero"`
	Value       json.RawMessage `json:"value,omitzero"`
}

type CreateOrUpdateFileInput struct {
	AllowSymlinkWrite *bool   `json:"allow_symlink_write,omitzero"`
	Branch            string  `json:"branch"`
	Content           string  `json:"content"`
	Message           string  `json:"message"`
	Owner             string  `json:"owner"`
	Path              string  `json:"path"`
	Repo              string  `json:"repo"`
	Sha               *string `json:"sha,omitzero"`
}

type FindProjectsOutput struct {
	AppliedFilters map[string]json.RawMessage       `json:"appliedFilters"`
	HasMore        bool                             `json:"hasMore"`
	NextCursor     *string                          `json:"nextCursor,omitzero"`
	Projects       []FindProjectsOutputProjectsItem `json:"projects"`
	TotalCount     float64                          `json:"totalCount"`
}

type FindProjectsOutputProjectsItem struct {
	ChildOrder   float64 `json:"childOrder"`
	Color        *string `json:"color,omitzero"`
	Description  string  `json:"description"`
	FolderID     *string `json:"folderId,omitzero"`
	ID           string  `json:"id"`
	InboxProject bool    `json:"inboxProject"`
	IsArchived   bool    `json:"isArchived"`
	IsFavorite   bool    `json:"isFavorite"`
	IsShared     bool    `json:"isShared"`
	Name         string  `json:"name"`
	ParentID     *string `json:"parentId,omitzero"`
	ViewStyle    string  `json:"viewStyle"`
	WorkspaceID  *string `json:"workspaceId,omitzero"`
}

type KeyvaultSecretGetInput struct {
	AuthMethod          *string  `json:"auth-method,omitzero"`
	RetryDelay          *float64 `json:"retry-delay,omitzero"`
	RetryMaxDelay       *float64 `json:"retry-max-delay,omitzero"`
	RetryMaxRetries     *int64   `json:"retry-max-retries,omitzero"`
	RetryMode           *string  `json:"retry-mode,omitzero"`
	RetryNetworkTimeout *float64 `json:"retry-network-timeout,omitzero"`
	Secret              *string  `json:"secret,omitzero"`
	Subscription        *string  `json:"subscription,omitzero"`
	Tenant              *string  `json:"tenant,omitzero"`
	Vault               string   `json:"vault"`
}

type ListIssuesInput struct {
	After        *string                           `json:"after,omitzero"`
	Direction    *string                           `json:"direction,omitzero"`
	FieldFilters []ListIssuesInputFieldFiltersItem `json:"field_filters,omitzero"`
	Fields       []string                          `json:"fields,omitzero"`
	Labels       []string                          `json:"labels,omitzero"`
	OrderBy      *string                           `json:"orderBy,omitzero"`
	Owner        string                            `json:"owner"`
	PerPage      *float64                          `json:"perPage,omitzero"`
	Repo         string                            `json:"repo"`
	Since        *string                           `json:"since,omitzero"`
	State        *string                           `json:"state,omitzero"`
}

type ListIssuesInputFieldFiltersItem struct {
	FieldName string `json:"field_name"`
	Value     string `json:"value"`
}

type TavilyCrawlInput struct {
	AllowExternal  *bool    `json:"allow_external,omitzero"`
	ExtractDepth   *string  `json:"extract_depth,omitzero"`
	Format         *string  `json:"format,omitzero"`
	IncludeFavicon *bool    `json:"include_favicon,omitzero"`
	Instructions   *string  `json:"instructions,omitzero"`
	Limit          *int64   `json:"limit,omitzero"`
	MaxBreadth     *int64   `json:"max_breadth,omitzero"`
	MaxDepth       *int64   `json:"max_depth,omitzero"`
	SelectDomains  []string `json:"select_domains,omitzero"`
	SelectPaths    []string `json:"select_paths,omitzero"`
	URL            string   `json:"url"`
}

type UpdateSubscriptionInput struct {
	Items             []UpdateSubscriptionInputItemsItem `json:"items,omitzero"`
	ProrationBehavior *string                            `json:"proration_behavior,omitzero"`
	Subscription      string                             `json:"subscription"`
}

type UpdateSubscriptionInputItemsItem struct {
	Deleted  *bool   `json:"deleted,omitzero"`
	ID       *string `json:"id,omitzero"`
	Price    *string `json:"price,omitzero"`
	Quantity *int64  `json:"quantity,omitzero"`
}

type ZephyrGetTestCaseLinksOutput struct {
	Issues   []ZephyrGetTestCaseLinksOutputIssuesItem   `json:"issues,omitzero"`
	Self     *string                                    `json:"self,omitzero"`
	WebLinks []ZephyrGetTestCaseLinksOutputWebLinksItem `json:"webLinks,omitzero"`
}

type ZephyrGetTestCaseLinksOutputIssuesItem struct {
	ID      *int64  `json:"id,omitzero"`
	IssueID int64   `json:"issueId"`
	Self    *string `json:"self,omitzero"`
	Target  *string `json:"target,omitzero"`
	Type    *string `json:"type,omitzero"`
}

type ZephyrGetTestCaseLinksOutputWebLinksItem struct {
	Description *string `json:"description,omitzero"`
	ID          *int64  `json:"id,omitzero"`
	Self        *string `json:"self,omitzero"`
	Type        *string `json:"type,omitzero"`
	URL         string  `json:"url"`
}
