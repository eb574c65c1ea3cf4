internal import FoundationEssentials
internal import TidegateModel

/// Reads the JSON object of a submission; a mistake is named, not passed over.
enum SubmissionDocument {
    static func read(_ bytes: [UInt8]) throws(ControlRefusal) -> TaskSubmission {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        do {
            let names = try decoder.decode(MemberNames.self, from: data).names
            if let stranger = names.first(where: { !TaskSubmission.members.contains($0) }) {
                throw ControlRefusal(.malformed, "a submission has no member \"\(stranger)\"")
            }
            return try decoder.decode(TaskSubmission.self, from: data)
        } catch let refusal as ControlRefusal {
            throw refusal
        } catch let error as DecodingError {
            throw ControlRefusal(.malformed, self.sentence(error))
        } catch {
            throw ControlRefusal(.malformed, "the submission is no JSON object")
        }
    }

    private static func sentence(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "the submission has no member \"\(key.stringValue)\""
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            context.codingPath.isEmpty
                ? "the submission is no JSON object"
                : "the member \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\" has a wrong type"
        case .dataCorrupted: "the submission is no JSON object"
        @unknown default: "the submission cannot be read"
        }
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
