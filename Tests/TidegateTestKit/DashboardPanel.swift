internal import Foundation

extension Dashboard {
    /// A panel or a row.
    package struct Panel: Decodable, Sendable {
        /// The panel's number on its dashboard.
        package let id: Int
        /// The title.
        package let title: String
        /// The type; `row` for a heading.
        package let type: String
        /// The description.
        package let description: String?
        /// The position.
        package let gridPos: GridPosition
        /// The queries.
        package let targets: [Query]?
        /// The options of its fields.
        package let fieldConfig: Fields?
        /// The data source.
        package let datasource: Source?
        /// Links to other dashboards.
        package let links: [Link]?
    }

    /// A position in the grid of 24 columns.
    package struct GridPosition: Decodable, Sendable {
        /// Columns from the left, rows from the top, width and height.
        package let x, y, w, h: Int
    }

    /// A query.
    package struct Query: Decodable, Sendable {
        /// In PromQL, with variables.
        package let expr: String
        /// The query's letter.
        package let refId: String
        /// The name of a series, with its labels in double braces.
        package let legendFormat: String?
        /// The data source.
        package let datasource: Source?

        /// The expression with every variable filled in.
        package var filled: String { Query.filled(self.expr) }

        /// The labels in ``legendFormat``, without `instance` and `job`.
        package var legendLabels: [String] {
            (self.legendFormat ?? "").matches(of: /{{([a-z_]+)}}/).map { String($0.1) }
                .filter { !["instance", "job"].contains($0) }
        }

        /// An expression with every variable filled in.
        package static func filled(_ expr: String) -> String {
            [("$__rate_interval", "1m"), ("$__range", "5m"), ("$job", ".+"), ("$instance", ".+")]
                .reduce(expr) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        }
    }

    /// The options of a panel's fields.
    package struct Fields: Decodable, Sendable {
        /// The defaults.
        package let defaults: Defaults
    }

    /// The options of fields without their own.
    package struct Defaults: Decodable, Sendable {
        /// A unit's id.
        package let unit: String?
    }

    /// A variable of a dashboard.
    package struct Variable: Decodable, Sendable {
        /// The name behind `$`.
        package let name: String
        /// The label.
        package let label: String?
        /// The type: `datasource` or `query`.
        package let type: String
        /// The kind of data source, or the query for the values.
        package let query: QueryText
        /// The data source.
        package let datasource: Source?
        /// 2 if the values are queried again when the time range changes.
        package let refresh: Int?
        /// True if several values can be selected.
        package let multi: Bool?
        /// The value for all.
        package let allValue: String?
    }

    /// A text that Grafana writes as a string, or as the field `query` of an object.
    package struct QueryText: Decodable, Sendable {
        /// The text.
        package let text: String

        private struct Wrapped: Decodable { let query: String }

        /// Decodes both forms.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self.text = text
            } else {
                self.text = try container.decode(Wrapped.self).query
            }
        }
    }
}
