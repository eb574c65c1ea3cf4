internal import Foundation

extension Dashboard {
    /// A panel or a row.
    public struct Panel: Decodable, Sendable {
        /// The panel's number on its dashboard.
        public let id: Int
        /// What stands above it.
        public let title: String
        /// `row` for a heading.
        public let type: String
        /// What it shows, in a sentence.
        public let description: String?
        /// Its place.
        public let gridPos: Place
        /// Its queries.
        public let targets: [Query]?
        /// Its unit.
        public let fieldConfig: Fields?
        /// Where its data comes from.
        public let datasource: Source?
        /// Ways to other dashboards.
        public let links: [Link]?
    }

    /// A place in the grid of 24 columns.
    public struct Place: Decodable, Sendable {
        /// Columns from the left, rows from the top, width and height.
        public let x, y, w, h: Int
    }

    /// A query.
    public struct Query: Decodable, Sendable {
        /// In PromQL, with variables.
        public let expr: String
        /// The query's letter.
        public let refId: String
        /// How a series is called, with its labels in double braces.
        public let legendFormat: String?
        /// Where its data comes from.
        public let datasource: Source?

        /// The expression with every variable filled in.
        public var filled: String { Query.filled(self.expr) }

        /// An expression with every variable filled in.
        public static func filled(_ expr: String) -> String {
            [("$__rate_interval", "1m"), ("$__range", "5m"), ("$job", ".+"), ("$instance", ".+")]
                .reduce(expr) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        }
    }

    /// What all fields of a panel have in common.
    public struct Fields: Decodable, Sendable {
        /// The values for fields that say nothing else.
        public let defaults: Defaults
    }

    /// The values for fields that say nothing else.
    public struct Defaults: Decodable, Sendable {
        /// A unit's id.
        public let unit: String?
    }

    /// A variable to choose by.
    public struct Variable: Decodable, Sendable {
        /// The name behind `$`.
        public let name: String
        /// What stands beside it.
        public let label: String?
        /// Where its values come from: `datasource` or `query`.
        public let type: String
        /// The kind of data source, or the query for the values.
        public let query: Words
        /// Where the values come from.
        public let datasource: Source?
        /// 2 where the values are asked for again when the shown time changes.
        public let refresh: Int?
        /// True where several values can be chosen.
        public let multi: Bool?
        /// What stands for all values.
        public let allValue: String?
    }

    /// A text that Grafana writes plainly, or as the field `query` of an object.
    public struct Words: Decodable, Sendable {
        /// The text.
        public let text: String

        private struct Wrapped: Decodable { let query: String }

        /// Reads both forms.
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
