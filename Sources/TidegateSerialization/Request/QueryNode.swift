internal import FoundationEssentials
internal import TidegateCore

/// Parameters as a query sees them.
indirect enum QueryNode {
    case null
    case bool(Bool)
    /// A string, or a number as it is written.
    case text(String)
    case data(Data)
    case array([QueryNode])
    case set([QueryNode])
    case object([(name: String, node: QueryNode)])
}

/// One name of a query with its value, before anything is percent-encoded.
struct QueryPair {
    enum Value {
        case none
        case text(String)
        case data(Data)
    }

    let name: String
    let value: Value
}

extension QueryNode {
    /// The pairs of the query, names sorted by UTF-16 code unit at every level.
    func pairs(_ encoding: QueryEncoding, below name: String? = nil) -> [QueryPair] {
        switch self {
        case .null: [QueryPair(name: name ?? "", value: .none)]
        case .bool(let value): [QueryPair(name: name ?? "", value: .text(encoding.bools.text(of: value)))]
        case .text(let text): [QueryPair(name: name ?? "", value: .text(text))]
        case .data(let data): [QueryPair(name: name ?? "", value: .data(data))]
        case .array(let nodes):
            nodes.enumerated().flatMap { index, node in
                node.pairs(encoding, below: encoding.arrays.name(name ?? "", index))
            }
        case .set(let nodes):
            nodes.map { $0.pairs(encoding, below: name ?? "") }.sorted { QueryNode.order($0) < QueryNode.order($1) }
                .flatMap { $0 }
        case .object(let members):
            members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }.flatMap { member in
                member.node.pairs(
                    encoding, below: name.map { encoding.keyPaths.name($0, member.name) } ?? member.name)
            }
        }
    }

    private static func order(_ pairs: [QueryPair]) -> String {
        pairs.map { pair in
            switch pair.value {
            case .none: pair.name
            case .text(let text): pair.name + "=" + text
            case .data(let data): pair.name + "=" + data.base64EncodedString()
            }
        }.joined(separator: "&")
    }

    /// The text of a number: whole ones without a fraction, as AFNetworking writes them.
    static func text(of number: Double) -> String {
        if number == 0 { return number.sign == .minus ? "-0" : "0" }
        return number == number.rounded() && abs(number) < 1e16 ? String(Int64(number)) : String(number)
    }
}
