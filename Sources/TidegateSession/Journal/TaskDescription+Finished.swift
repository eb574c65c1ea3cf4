internal import HTTPTypes
package import TidegateCore

// What the journal keeps once a task is over.
extension TaskDescription {
    // Fields whose values are no secrets.
    private static let shownFields: Set<HTTPField.Name> = [
        .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .contentEncoding, .contentLanguage, .contentType,
        .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifUnmodifiedSince, .range, .userAgent,
    ]

    /// The description without the body, credentials, the URL's query and values of header fields that may be secret.
    package var redacted: TaskDescription {
        var options = RequestOptions()
        options.name = self.options.name
        options.priority = self.options.priority
        options.confinedTo = self.options.confinedTo
        return TaskDescription(
            url: URLRedaction().text(of: self.url), method: self.method,
            headers: self.headers.map { field in
                Self.shownFields.contains(field.name) ? field : HTTPField(name: field.name, value: "redacted")
            },
            body: self.body == .none ? .none : .removed, destination: self.destination, key: self.key,
            options: options)
    }

    /// What kind of task it describes.
    package var kind: TaskKind {
        if self.body != .none { return .upload }
        return self.file == nil ? .data : .download
    }

    /// The file that receives the response's body; nil if it goes elsewhere.
    package var file: String? {
        if case .file(let path, _) = self.destination { path } else { nil }
    }
}
