"""What AutoRest's test server wants its functions to be called with: by document and function, the arguments, or a list
of several; see `autorest.planned` for the functions that are not here. A name in place of arguments is that of the
function whose answer they are."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

_WIDE = "\u554a\u9f44\u4e02\u72db\u72dc\uf9f1\uf92c\uf9f1\ufa0c\ufa29"  # compatibility forms, which editors change
_BYTES = b64encode(_WIDE.encode()).decode()
_ODD = "begin!*'();:@ &=+$,/?#[]end"


def _scenarios(**values: Any) -> list[dict[str, Any]]:
    """Arguments of calls that name their scenario; one whose value is `...` has none."""
    return [{"scenario": scenario} | ({} if value is ... else {"value": value}) for scenario, value in values.items()]


def _flat(name: str, location: str) -> dict[str, Any]:
    return {"location": location, "properties": {"p.name": name, "type": "Flat"}}


_TAGS = {"tags": {"tag1": "value1", "tag2": "value3"}}
_RESOURCES = {"Resource1": {**_flat("Product1", "West US"), **_TAGS}, "Resource2": _flat("Product2", "Building 44")}
_PRODUCT = {"base_product_id": "123", "base_product_description": "product description"}
_DETAILS = {
    "max_product_display_name": "max name",
    "max_product_capacity": "Large",
    "max_product_image": {"@odata.value": "http://foo"},
}
_PUPPY = {"id": 1, "name": "Puppy", "birthdate": "2017-12-13T02:29:51Z", "complexProperty": {"color": "Red"}}
_SIZES = {"height": 5.61, "weight": 599, "footsize": 11.5}
_PATH = {f"{of}StringPath": f"{of}StringPath" for of in ("global", "pathItem", "local")}
_QUERY = {f"{of}StringQuery": f"{of}StringQuery" for of in ("global", "pathItem", "local")}
_METRICS = {"Version": "1.0", "Enabled": True, "IncludeAPIs": True, "RetentionPolicy": {"Enabled": True, "Days": 7}}
_APPLES = {"GoodApples": ["Fuji", "Gala"], "BadApples": ["Red Delicious"]}
_BANANAS = [{"name": name, "flavor": flavor, "expiration": "2018-02-28T00:40:00.123Z"} for name, flavor in
            (("Cavendish", "Sweet"), ("Plantain", "Savory"))]  # fmt: skip
_TYPES = ("integer", "string", "class", "array")
_CONSTANTS = {"constProperty": "constant", "constProperty2": "constant2"}
_CONTENT = {"base64": b64encode(b"hello, world").decode()}

CALLS: dict[str, dict[str, Any]] = {
    "additionalProperties": {
        "pets_create_ap_true": {"body": _PUPPY},
        "pets_create_cat_ap_true": {"body": {**_PUPPY, "name": "Lisa", "friendly": True}},
        "pets_create_ap_object": {"body": {"id": 2, "name": "Hira", "siblings": [_PUPPY], "picture": "//////4="}},
        "pets_create_ap_string": {"body": {"id": 3, "name": "Tommy", "color": "red", "weight": "10 kg", "city": "Bombay"}},
        "pets_create_ap_in_properties": {"id": 4, "name": "Bunny", "additionalProperties": _SIZES},
        "pets_create_ap_in_properties_with_ap_string": {
            "body": {"id": 5, "name": "Funny", "@odata.location": "westus", "additionalProperties": _SIZES, "color": "red"}
            | {"city": "Seattle", "food": "tikka masala"}
        },
    },
    "any-type": {
        "put_object": {"body": {"foo": "bar"}},
    },
    "body-array": {
        "array_put_date_time_valid": {"body": ["2000-12-01T00:00:01Z", "1980-01-02T00:11:35Z", "1492-10-12T10:15:01Z"]},
        "array_put_duration_valid": {"body": ["P123DT22H14M12.011S", "P5DT1H"]},
    },
    "body-binary": {
        "upload_file": {"body": {"base64": b64encode(b'{"more": "cowbell"}').decode()}},
        "upload_binary": {"body": _CONTENT},
    },
    "body-boolean": {},
    "body-byte": {},
    "body-complex": {
        "basic_put_valid": {"id": 2, "name": "abc", "color": "Magenta"},
        "primitive_put_date_time_rfc1123": {"field": "Mon, 01 Jan 0001 00:00:00 GMT", "now": "Mon, 18 May 2015 "
                                                                                             "11:38:00 GMT"},
        "polymorphism_put_missing_discriminator": "body_complex.polymorphism_get_valid",
        "readonlyproperty_put_valid": {"size": 2},
    },
    "body-date": {},
    "body-datetime": {
        "datetime_put_utc_max_date_time": {"body": "9999-12-31T23:59:59.999Z"},
    },
    "body-datetime-rfc1123": {
        "datetimerfc1123_put_utc_max_date_time": {"body": "Fri, 31 Dec 9999 23:59:59 GMT"},
    },
    "body-dictionary": {
        "dictionary_put_date_time_valid": {"body": {"0": "2000-12-01T00:00:01Z", "1": "1980-01-01T23:11:35Z", "2": "1492-10-12T18:15:01Z"}},
    },
    "body-duration": {
        "duration_put_positive_duration": {"body": "P123DT22H14M12.011S"},
    },
    "body-file": {},
    "body-integer": {
        "int_put_max32": {"body": 2**31 - 1},
        "int_put_min32": {"body": -(2**31)},
        "int_put_max64": {"body": 2**63 - 1},
        "int_put_min64": {"body": -(2**63)},
        "int_put_unix_time_date": {"body": 1460505600},
    },
    "body-number": {},
    "body-string": {
        "enum_put_referenced_constant": {},
        "string_put_null": {},  # no body is what the server takes for null
    },
    "body-time": {"time_put": {"body": "08:07:56"}},
    "client-enum": {"head": {"x_ms_enum": "single"}},
    "constants": {"contants_put_client_constants": {}},
    "custom-baseUrl": {},
    "custom-baseUrl-more-options": {"paths_get_empty": {"subscriptionId": "test12", "keyName": "key1", "keyVersion": "v1"}},
    "error-with-secrets": {"create_secret": {}},
    "extensible-enums-swagger": {
        "pet_get_by_pet_id": [{"petId": name} for name in ("tommy", "casper", "scooby")],
        "pet_add_pet": {"name": "Retriever", "IntEnum": "3", "DaysOfWeek": "Friday"},
    },
    "httpInfrastructure": {},
    "header": {
        "header_param_existing_key": {"user_agent": "overwrite"},
        "header_response_existing_key": {},
        "header_response_protected_key": {},
        "header_param_integer": _scenarios(positive=1, negative=-2),
        "header_param_long": _scenarios(positive=105, negative=-2),
        "header_param_float": _scenarios(positive=0.07, negative=-3.0),
        "header_param_double": _scenarios(positive=7e120, negative=-3.0),
        "header_param_bool": _scenarios(true=True, false=False),
        "header_param_string": _scenarios(valid="The quick brown fox jumps over the lazy dog", null=None, empty=""),
        "header_param_date": _scenarios(valid="2010-01-01", min="0001-01-01"),
        "header_param_datetime": _scenarios(valid="2010-01-01T12:34:56Z", min="0001-01-01T00:00:00Z"),
        "header_param_datetime_rfc1123": _scenarios(valid="Fri, 01 Jan 2010 12:34:56 GMT", min="Mon, 01 Jan 0001 "
                                                                                               "00:00:00 GMT"),
        "header_param_duration": _scenarios(valid="P123DT22H14M12.011S"),
        "header_param_byte": _scenarios(valid=_BYTES),
        "header_param_enum": _scenarios(valid="GREY", null=None),
        **{f"header_response_{kind}": _scenarios(positive=..., negative=...) for kind in ("integer", "long", "float", "double")},
        **{f"header_response_{kind}": _scenarios(valid=..., min=...) for kind in ("date", "datetime", "datetime_rfc1123")},
        "header_response_bool": _scenarios(true=..., false=...),
        "header_response_string": _scenarios(valid=..., null=..., empty=...),
        "header_response_duration": _scenarios(valid=...),
        "header_response_byte": _scenarios(valid=...),
        "header_response_enum": _scenarios(valid=..., null=...),
    },
    "incorrect-error-response": {},
    "media_types": {
        "analyze_body": [{"source": "here"}, {"body": {"base64": b64encode(b"PDF").decode(), "type": "application/pdf"}}],
        "analyze_body_no_accept_header": {"source": "here"},
        "content_type_with_encoding": {"body": "anything"},
        "binary_body_with_two_content_types": {"body": {"base64": b64encode(b'{"hello": "world"}').decode(), "type": "application/json"}},
        "binary_body_with_three_content_types": {"body": _CONTENT},
        "body_three_types": {"body": {"hello": "world"}},
    },
    # The server counts the bytes of `{"foo": "bar"}`, with its blank.
    "merge-patch": {"patch_single": {"body": {"food": "bar"}}},
    "model-flattening": {
        "put_array": {"body": [{"location": "West US", **_TAGS}, {"location": "Building 44"}]},
        "put_wrapped_array": [],  # the server never answers
        "put_dictionary": {"body": _RESOURCES},
        "put_resource_collection": {
            "arrayofresources": [{**_flat("Product1", "West US"), **_TAGS}, _flat("Product2", "East US")],
            "dictionaryofresources": _RESOURCES,
            "productresource": _flat("Azure", "India"),
        },
        "put_simple_product": {
            **_PRODUCT,
            "details": {**_DETAILS, "max_product_image": {"@odata.value": "http://foo", "generic_value": "https://generic"}},
        },
        "post_flattened_simple_product": {**_PRODUCT, "details": _DETAILS},
        "put_simple_product_with_grouping": {"name": "groupproduct", **_PRODUCT, "details": _DETAILS},
    },
    "multiple-inheritance": {
        "put_pet": {"name": "Butter"},
        "put_horse": {"name": "General", "isAShowHorse": False},
        "put_feline": {"meows": False, "hisses": True},
        "put_cat": {"name": "Boots", "likesMilk": False, "meows": True, "hisses": False},
        "put_kitten": {"name": "Kitty", "likesMilk": False, "meows": True, "hisses": False, "eatsMiceYet": True},
    },
    "non-string-enum": {"int_put": {"body": 200}, "float_put": {"body": 200.4}},
    "object-type": {"put": [{"body": {"foo": "bar"}}, {"body": {"foo": "other"}}]},
    "parameterized-endpoint": {},
    "required-optional": {
        f"implicit_put_optional_{what}": {} for what in ("query", "header", "body", "binary_body")
    }
    | {f"explicit_put_{what}_binary_body": {"body": _CONTENT} for what in ("optional", "required")}
    | {f"explicit_post_optional_{type}_{place}": {} for type in _TYPES for place in ("parameter", "property")}
    | {f"explicit_post_optional_{type}_header": {} for type in _TYPES if type != "class"},
    "reserved-words": {
        "import_operation_one": {"parameter1": "foo"},
        "operation_with_content_param": {"body": _CONTENT},
        "operation_with_json_param": {"body": {"hello": "world"}},
        "operation_with_data_param": {"data": "hello", "world": "world"},
        "operation_with_files_param": {"files": {**_CONTENT, "name": "my.txt"}, "fileName": "my.txt"},
        "operation_with_url": {"url": "foo", "headerParameters": "x-ms-header", "queryParameters": ["one", "two"]},
        "reserved_enum": {"enumParameter": "import"},
    },
    "security-aad": {"head": {}},
    "security-key": {"head": {}},
    "url": {
        "paths_get_boolean_true": {"boolPath": True},
        "paths_get_boolean_false": {"boolPath": False},
        "paths_get_int_one_million": {"intPath": 1000000},
        "paths_get_int_negative_one_million": {"intPath": -1000000},
        "paths_get_ten_billion": {"longPath": 10**10},
        "paths_get_negative_ten_billion": {"longPath": -(10**10)},
        "paths_float_scientific_positive": {"floatPath": 1.034e20},
        "paths_float_scientific_negative": {"floatPath": -1.034e-20},
        "paths_double_decimal_positive": {"doublePath": 9999999.999},
        "paths_double_decimal_negative": {"doublePath": -9999999.999},
        "paths_string_unicode": {"stringPath": _WIDE},
        "paths_string_url_encoded": {"stringPath": _ODD},
        "paths_string_url_non_encoded": {"stringPath": "begin!*'();:@&=+$,end"},
        "paths_string_empty": {"stringPath": ""},
        "paths_enum_valid": {"enumPath": "green color"},
        "paths_byte_multi_byte": {"bytePath": _BYTES},
        "paths_byte_empty": {"bytePath": ""},
        "paths_date_valid": {"datePath": "2012-01-01"},
        "paths_date_time_valid": {"dateTimePath": "2012-01-01T01:01:01Z"},
        "paths_base64_url": {"base64UrlPath": "bG9yZW0"},
        "paths_array_csv_in_path": {"arrayPath": ["ArrayPath1", _ODD, "", ""]},
        "paths_unix_time_url": {"unixTimeUrlPath": 1460505600},
        "queries_get_boolean_true": {"boolQuery": True},
        "queries_get_boolean_false": {"boolQuery": False},
        "queries_get_int_one_million": {"intQuery": 1000000},
        "queries_get_int_negative_one_million": {"intQuery": -1000000},
        "queries_get_ten_billion": {"longQuery": 10**10},
        "queries_get_negative_ten_billion": {"longQuery": -(10**10)},
        "queries_float_scientific_positive": {"floatQuery": 1.034e20},
        "queries_float_scientific_negative": {"floatQuery": -1.034e-20},
        "queries_double_decimal_positive": {"doubleQuery": 9999999.999},
        "queries_double_decimal_negative": {"doubleQuery": -9999999.999},
        "queries_string_unicode": {"stringQuery": _WIDE},
        "queries_string_url_encoded": {"stringQuery": _ODD},
        "queries_string_empty": {"stringQuery": ""},
        "queries_enum_valid": {"enumQuery": "green color"},
        "queries_byte_multi_byte": {"byteQuery": _BYTES},
        "queries_byte_empty": {"byteQuery": ""},
        "queries_date_valid": {"dateQuery": "2012-01-01"},
        "queries_date_time_valid": {"dateTimeQuery": "2012-01-01T01:01:01Z"},
        "queries_array_string_csv_empty": {"arrayQuery": [""]},
        **{f"queries_array_string_{form}_valid": {"arrayQuery": ["ArrayQuery1", _ODD, "", ""]} for form in ("csv", "ssv", "tsv", "pipes")},
        "queries_array_string_no_collection_format_empty": {"arrayQuery": ["hello", "nihao", "bonjour"]},
        "path_items_get_all_with_values": {**_PATH, **_QUERY},
        "path_items_get_global_query_null": {**_PATH, **_QUERY, "globalStringQuery": None},
        "path_items_get_global_and_local_query_null": {**_PATH, "pathItemStringQuery": "pathItemStringQuery", "localStringQuery": None},
        "path_items_get_local_path_item_query_null": {**_PATH, "globalStringQuery": "globalStringQuery", "pathItemStringQuery": None},
    },
    "url-multi-collectionFormat": {"queries_array_string_multi_valid": {"arrayQuery": ["ArrayQuery1", _ODD, "", ""]}},
    "validation": {
        "get_with_constant_in_path": {},
        "post_with_constant_in_body": {"child": {"constProperty": "constant"}, "constChild": _CONSTANTS},
    },
    "xml-service": {
        "xml_put_complex_type_ref_no_meta": {"body": {"RefToModel": {"ID": "myid"}, "Something": "else"}},
        "xml_put_complex_type_ref_with_meta": {"body": {"RefToModel": {"ID": "myid"}, "Something": "else"}},
        "xml_put_simple": {
            "body": {
                "title": "Sample Slide Show",
                "date": "Date of publication",
                "author": "Yours Truly",
                "slides": [
                    {"type": "all", "title": "Wake up to WonderWidgets!"},
                    {"type": "all", "title": "Overview", "items": ["Why WonderWidgets are great", "", "Who buys WonderWidgets"]},
                ],
            }
        },
        "xml_put_wrapped_lists": {"body": _APPLES},
        "xml_put_empty_list": {"body": {"slides": []}},
        "xml_put_empty_wrapped_lists": {"body": {"GoodApples": [], "BadApples": []}},
        "xml_put_root_list": {"body": _BANANAS},
        "xml_put_root_list_single_item": {"body": _BANANAS[:1]},
        "xml_put_empty_root_list": {"body": []},
        "xml_put_empty_child_element": {"body": {"name": "Unknown Banana", "flavor": "", "expiration": "2012-02-24T00:53:52.789Z"}},
        "xml_list_containers": {},
        "xml_get_service_properties": {},
        "xml_put_service_properties": {
            "body": {
                "Logging": {"Version": "1.0", "Delete": True, "Read": False, "Write": True, "RetentionPolicy": _METRICS["RetentionPolicy"]},
                "HourMetrics": {**_METRICS, "IncludeAPIs": False},
                "MinuteMetrics": _METRICS,
            }
        },
        "xml_get_acls": {},
        "xml_put_acls": {
            "body": [
                {
                    "Id": "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=",
                    "AccessPolicy": {"Start": "2009-09-28T08:49:37.123Z", "Expiry": "2009-09-29T08:49:37.123Z", "Permission": "rwd"},
                }
            ]
        },
        "xml_list_blobs": {},
        "xml_json_input": {"id": 42},
        "xml_put_binary": {"body": {"Bytes": b64encode(b"Hello world").decode()}},
        "xml_put_uri": {"body": {"Url": "https://myaccount.blob.core.windows.net/"}},
    },
    "xms-error-responses": {
        "pet_get_pet_by_id": [{"petId": pet} for pet in ("tommy", "django", "coyoteUgly", "weirdAlYankovic", "ringo", "alien123")],
        "pet_do_something": [{"whatAction": action} for action in ("stay", "jump", "fetch")],
    },
}  # fmt: skip
