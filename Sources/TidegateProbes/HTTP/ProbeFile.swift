internal import FoundationEssentials
internal import HTTPTypes
internal import TidegateCore

/// Files that are read for every probe, so that a changed one counts at once.
enum ProbeFile {
    /// More than any of them needs.
    private static let limit = 16 * 1024 * 1024

    /// The content of a file.
    ///
    /// - Throws: The path and what is wrong.
    static func read(_ path: String) throws(TextError) -> [UInt8] {
        do {
            // A pipe or a device may never end.
            let attributes = try FileManager.default.attributesOfItem(
                atPath: URL(filePath: path).resolvingSymlinksInPath().path())
            guard attributes[.type] as? FileAttributeType == .typeRegular else {
                throw TextError("\(path) is not a regular file")
            }
            guard (attributes[.size] as? Int ?? 0) <= Self.limit else {
                throw TextError("\(path) has more than 16 MiB")
            }
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch let error as TextError {
            throw error
        } catch {
            throw TextError("\(path) cannot be read")
        }
    }

    /// A secret; of a file its content without surrounding white space.
    static func read(_ secret: Secret) throws(TextError) -> String {
        switch secret {
        case .text(let text): return text
        case .file(let path):
            let isSpace = { (byte: UInt8) in [0x09, 0x0A, 0x0D, 0x20].contains(byte) }
            let bytes = try Self.read(path).drop(while: isSpace)
            return String(decoding: bytes.reversed().drop(while: isSpace).reversed(), as: UTF8.self)
        }
    }
}

extension SecretHeader {
    /// The field.
    ///
    /// - Throws: A file that cannot be read, or a value that no field can carry.
    func field() throws(TextError) -> HTTPField {
        guard let name = HTTPField.Name(self.name), case let value = try ProbeFile.read(self.value),
            HTTPField.isValidValue(value)
        else { throw TextError("the value of the module's field \(self.name) has a character that no field can carry") }
        return HTTPField(name: name, value: value)
    }
}

extension ProbeAuthorization {
    /// The field Authorization.
    ///
    /// - Throws: A file that cannot be read, or a secret that no field can carry.
    func field() throws(TextError) -> HTTPField {
        let value: String
        switch self {
        case .basic(let user, let password):
            let text = "\(try ProbeFile.read(user)):\(try ProbeFile.read(password))"
            value = "Basic \(Data(text.utf8).base64EncodedString())"
        case .token(let scheme, let secret): value = "\(scheme) \(try ProbeFile.read(secret))"
        }
        guard HTTPField.isValidValue(value) else {
            throw TextError("the module's authorization has a character that no header field can carry")
        }
        return HTTPField(name: .authorization, value: value)
    }
}
