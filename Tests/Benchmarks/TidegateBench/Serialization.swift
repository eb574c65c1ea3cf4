import FoundationEssentials
import HTTPTypes
import Tidegate

/// What queries and JSON cost, with the library and with Foundation alone.
struct Serialization {
    enum Codec: String {
        case tidegate, foundation
    }

    private struct User: Codable, Sendable {
        var id: Int
        var name: String
        var mail: String?
        var isActive: Bool
        var score: Double
        var tags: [String]

        init(_ number: Int) {
            self.id = number
            self.name = "User \(number)"
            self.mail = number % 3 == 0 ? nil : "user\(number)@example.com"
            self.isActive = number % 2 == 0
            self.score = Double(number) / 7
            self.tags = ["a", "tag \(number)"]
        }
    }

    let codec: Codec
    /// How many parameters a query has, or how many objects an array.
    let count: Int
    let rounds: Int

    /// Parameters whose characters both escape in the same way, and in the same order.
    func writeQueries() throws {
        let pairs = (0..<self.count).map { ("parameter \($0)", "a value & its sign = ü \($0)") }
        let parameters = Dictionary(uniqueKeysWithValues: pairs)
        switch self.codec {
        case .tidegate:
            let encoding = QueryEncoding()
            try self.measure { try encoding.query(of: parameters).utf8.count }
        case .foundation:
            try self.measure {
                var components = URLComponents()
                components.queryItems = parameters.sorted { $0.key < $1.key }.map {
                    URLQueryItem(name: $0.key, value: $0.value)
                }
                return components.percentEncodedQuery?.utf8.count ?? 0
            }
        }
    }

    func readJSON() throws {
        let users = (0..<self.count).map(User.init)
        let data = try JSONEncoder().encode(users)
        switch self.codec {
        case .tidegate:
            let type = HTTPField(name: .contentType, value: "application/json; charset=utf-8")
            let response = ReceivedResponse(status: 200, fields: [type], body: Array(data))
            let serializer = JSONResponseSerializer([User].self)
            try self.measure { try serializer.value(of: response).count }
        case .foundation:
            let decoder = JSONDecoder()
            try self.measure { try decoder.decode([User].self, from: data).count }
        }
    }

    /// Prints what one round costs and what it gives, after one that is not counted.
    private func measure(_ round: () throws -> Int) throws {
        let result = try round()
        let before = Gets.cpuMicroseconds()
        for _ in 0..<self.rounds { _ = try round() }
        let spent = (Gets.cpuMicroseconds() - before) / Double(self.rounds)
        print(["cpuMicroseconds": .number(spent), "result": .number(Double(result))] as JSONValue)
    }
}
