"""What readers of JUnit XML and SARIF 2.1.0 require, as schemas written from their definitions.

JUnit: what Ant's and Jenkins' schemas both ask of a suite and a case, with the properties of a
case that pytest and GitLab read. SARIF: the objects used here, as the OASIS standard has them
(section numbers beside them).
"""

from __future__ import annotations

from typing import Any

JUNIT = """\
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:complexType name="properties"><xs:sequence>
    <xs:element name="property" maxOccurs="unbounded"><xs:complexType>
      <xs:attribute name="name" use="required" type="xs:token"/>
      <xs:attribute name="value" use="required" type="xs:string"/>
    </xs:complexType></xs:element>
  </xs:sequence></xs:complexType>
  <xs:complexType name="problem"><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="type" use="required" type="xs:string"/>
    <xs:attribute name="message" type="xs:string"/>
  </xs:extension></xs:simpleContent></xs:complexType>
  <xs:element name="testsuites"><xs:complexType>
    <xs:sequence>
      <xs:element name="testsuite" maxOccurs="unbounded"><xs:complexType>
        <xs:sequence>
          <xs:element name="properties" type="properties" minOccurs="0"/>
          <xs:element name="testcase" minOccurs="0" maxOccurs="unbounded"><xs:complexType>
            <xs:sequence>
              <xs:element name="properties" type="properties" minOccurs="0"/>
              <xs:choice minOccurs="0">
                <xs:element name="skipped" type="problem"/>
                <xs:element name="error" type="problem"/>
                <xs:element name="failure" type="problem"/>
              </xs:choice>
            </xs:sequence>
            <xs:attribute name="name" use="required" type="xs:string"/>
            <xs:attribute name="classname" use="required" type="xs:string"/>
            <xs:attribute name="time" use="required" type="xs:decimal"/>
          </xs:complexType></xs:element>
        </xs:sequence>
        <xs:attribute name="name" use="required" type="xs:token"/>
        <xs:attribute name="timestamp" use="required" type="xs:dateTime"/>
        <xs:attribute name="hostname" use="required" type="xs:token"/>
        <xs:attribute name="id" use="required" type="xs:int"/>
        <xs:attribute name="package" use="required" type="xs:token"/>
        <xs:attribute name="tests" use="required" type="xs:int"/>
        <xs:attribute name="failures" use="required" type="xs:int"/>
        <xs:attribute name="errors" use="required" type="xs:int"/>
        <xs:attribute name="skipped" use="required" type="xs:int"/>
        <xs:attribute name="time" use="required" type="xs:decimal"/>
      </xs:complexType></xs:element>
    </xs:sequence>
    <xs:attribute name="name" type="xs:string"/>
    <xs:attribute name="tests" type="xs:int"/>
    <xs:attribute name="failures" type="xs:int"/>
    <xs:attribute name="errors" type="xs:int"/>
    <xs:attribute name="time" type="xs:decimal"/>
  </xs:complexType></xs:element>
</xs:schema>
"""

_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_MESSAGE = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 1}},
    "required": ["text"],
    "additionalProperties": False,
}  # 3.11
_LOCATION = {
    "type": "object",
    "properties": {
        "physicalLocation": {
            "type": "object",
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "properties": {
                        "uri": {"type": "string", "format": "uri-reference", "minLength": 1},
                        "uriBaseId": {"type": "string"},
                    },
                    "required": ["uri"],
                    "additionalProperties": False,
                },
                "region": {
                    "type": "object",
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                    "required": ["startLine"],
                    "additionalProperties": False,
                },
            },
            "required": ["artifactLocation", "region"],
            "additionalProperties": False,
        }
    },
    "required": ["physicalLocation"],
    "additionalProperties": False,
}  # 3.28
_RULE = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "shortDescription": _MESSAGE,
        "defaultConfiguration": {"type": "object", "properties": {"level": _LEVEL}},
    },
    "required": ["id"],
    "additionalProperties": False,
}  # 3.49
_RESULT = {
    "type": "object",
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": _LEVEL,
        "message": _MESSAGE,
        "locations": {"type": "array", "items": _LOCATION, "minItems": 1, "maxItems": 1},
        "partialFingerprints": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "string"},
        },
        "properties": {"type": "object"},
    },
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    "additionalProperties": False,
}  # 3.27
SARIF: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "tool": {
                        "type": "object",
                        "properties": {
                            "driver": {
                                "type": "object",
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": _RULE,
                                    },
                                },
                                "required": ["name"],
                                "additionalProperties": False,
                            }
                        },
                        "required": ["driver"],
                        "additionalProperties": False,
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "properties": {"level": _LEVEL, "message": _MESSAGE},
                                        "required": ["message"],
                                    },
                                },
                            },
                            "required": ["executionSuccessful"],
                            "additionalProperties": False,
                        },
                    },
                    "results": {"type": "array", "items": _RESULT},
                    "properties": {"type": "object"},
                },
                "required": ["tool", "results"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["version", "runs"],
    "additionalProperties": False,
}  # 3.13, 3.14
