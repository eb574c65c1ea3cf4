internal import Foundation

extension Dashboard {
    /// A panel or a row.
    public struct Panel: Decodable, Sendable {
        /// The panel's number on its dashboard.
        public let id: Int
        /// The title.
        public let title: String
        /// The type; `row` for a heading.
        public let type: String
        /// The description.
        public let description: String?
        /// The position.
        public let gridPos: GridPosition
        /// The queries.
        public let targets: [Query]?
        /// The options of its fields.
        public let fieldConfig: Fields?
        /// The data source.
        public let datasource: Source?
        /// Links to other dashboards.
        public let links: [Link]?
    }

    /// A position in the grid of 24 columns.
    public struct GridPosition: Decodable, Sendable {
        /// Columns from the left, rows from the top, width and height.
        public let x, y, w, h: Int
    }

    /// A query.
    public struct Query: Decodable, Sendable {
        /// In PromQL, with variables.
        public let expr: String
        /// The query's letter.
        public let refId: String
        /// The name of a series, with its labels in double braces.
        public let legendFormat: String?
        /// The data source.
        public let datasource: Source?

        /// The expression with every variable filled in.
        public var filled: String { Query.filled(self.expr) }

        /// The labels in ``legendFormat``, without `instance` and `job`.
        public var legendLabels: [String] {
            (self.legendFormat ?? "").matches(of: /{{([a-z_]+)}}/).map { String($0.1) }
                .filter { !["instance", "job"].contains($0) }
        }

        /// An expression with every variable filled in.
        public static func filled(_ expr: String) -> String {
            [("$__rate_interval", "1m"), ("$__range", "5m"), ("$job", ".+"), ("$instance", ".+")]
                .reduce(expr) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        }
    }

    /// The options of a panel's fields.
    public struct Fields: Decodable, Sendable {
        /// The defaults.
        public let defaults: Defaults
    }

    /// The options of fields without their own.
    public struct Defaults: Decodable, Sendable {
        /// A unit's id.
        public let unit: String?
    }

    /// A variable of a dashboard.
    public struct Variable: Decodable, Sendable {
        /// The name behind `$`.
        public let name: String
        /// The label.
        public let label: String?
        /// The type: `datasource` or `query`.
        public let type: String
        /// The kind of data source, or the query for the values.
        public let query: QueryText
        /// The data source.
        public let datasource: Source?
        /// 2 if the values are queried again when the time range changes.
        public let refresh: Int?
        /// True if several values can be selected.
        public let multi: Bool?
        /// The value for all.
        public let allValue: String?
    }

    /// A text that Grafana writes as a string, or as the field `query` of an object.
    public struct QueryText: Decodable, Sendable {
        /// The text.
        public let text: String

        private struct Wrapped: Decodable { let query: String }

        /// Decodes both forms.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self.text = text
            } else {
                self.text = try container.decode(Wrapped.self).query
            }
        }
    }
}
