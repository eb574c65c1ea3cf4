internal import FoundationEssentials
internal import TidegateCore

/// Parses the JSON object of a submission; an unknown member is an error, not ignored.
enum SubmissionDocument {
    static func read(_ bytes: [UInt8]) throws(ControlRefusal) -> TaskSubmission {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        guard let names = try? decoder.decode([String: UnreadMember].self, from: data).keys.sorted() else {
            throw ControlRefusal(.malformed, "request body must be a JSON object")
        }
        if let unknown = names.first(where: { !TaskSubmission.members.contains($0) }) {
            throw ControlRefusal(.malformed, "unknown member \"\(unknown)\"")
        }
        do {
            return try decoder.decode(TaskSubmission.self, from: data)
        } catch {
            throw ControlRefusal(.malformed, self.message(error))
        }
    }

    private static func message(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, _): "missing member \"\(key.stringValue)\""
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(self.subject(context)) has the wrong type"
        // For example a number that is out of range.
        case .dataCorrupted(let context): "\(self.subject(context)) has an invalid value"
        case nil: "request body cannot be parsed"
        @unknown default: "request body cannot be parsed"
        }
    }

    private static func subject(_ context: DecodingError.Context) -> String {
        // The decoder does not always name the member.
        guard !context.codingPath.isEmpty else { return "a member" }
        return "member \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\""
    }
}

/// A member whose value is not read.
private struct UnreadMember: Decodable {
    init(from decoder: any Decoder) {}
}
