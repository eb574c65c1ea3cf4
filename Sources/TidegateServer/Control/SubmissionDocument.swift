internal import FoundationEssentials
internal import TidegateCore

/// Reads the JSON object of a submission; a mistake is named, not passed over.
enum SubmissionDocument {
    static func read(_ bytes: [UInt8]) throws(ControlRefusal) -> TaskSubmission {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        guard let names = try? decoder.decode(MemberNames.self, from: data).names else {
            throw ControlRefusal(.malformed, "the submission is no JSON object")
        }
        if let stranger = names.first(where: { !TaskSubmission.members.contains($0) }) {
            throw ControlRefusal(.malformed, "a submission has no member \"\(stranger)\"")
        }
        do {
            return try decoder.decode(TaskSubmission.self, from: data)
        } catch {
            throw ControlRefusal(.malformed, self.sentence(error))
        }
    }

    private static func sentence(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, _): "the submission has no member \"\(key.stringValue)\""
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(self.subject(context)) has a wrong type"
        // A number beyond the range of its member, for one.
        case .dataCorrupted(let context): "\(self.subject(context)) has a value that cannot be used"
        case nil: "the submission cannot be read"
        @unknown default: "the submission cannot be read"
        }
    }

    private static func subject(_ context: DecodingError.Context) -> String {
        // The decoder does not always say which one it was.
        guard !context.codingPath.isEmpty else { return "a member of the submission" }
        return "the member \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\""
    }
}

/// The names of an object's members, sorted.
private struct MemberNames: Decodable {
    let names: [String]

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        self.names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue).sorted()
    }
}
