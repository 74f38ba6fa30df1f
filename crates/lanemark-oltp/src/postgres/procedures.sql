-- The five transactions as procedures, with the same statements as `transactions.rs`.
--
-- They find their tables through the connection's search path, because a procedure with its own path cannot roll back.
-- An order with an item that does not exist is rolled back here. The server counts this and does not log it.

CREATE OR REPLACE PROCEDURE do_new_order(
    w INT, d INT, c INT, at_ms BIGINT, supplies INT[], items INT[], quantities INT[],
    INOUT entered INT, INOUT total BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
    w_rate INT; d_rate INT; discount INT;
    count INT := cardinality(items);
    price BIGINT; amount BIGINT; info TEXT;
BEGIN
    total := 0;
    SELECT w_tax INTO STRICT w_rate FROM warehouse WHERE w_id = w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_next_o_id - 1, d_tax INTO STRICT entered, d_rate;
    SELECT c_discount INTO STRICT discount FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (w, d, entered, c, at_ms, NULL, count, (w = ALL (supplies))::INT);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (w, d, entered);
    FOR line IN 1 .. count LOOP
        SELECT i_price INTO price FROM item WHERE i_id = items[line];
        IF NOT FOUND THEN
            ROLLBACK;
            entered := NULL;
            RETURN;
        END IF;
        amount := quantities[line] * price;
        UPDATE stock SET s_quantity = s_quantity - quantities[line]
                + CASE WHEN s_quantity - quantities[line] >= 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + quantities[line], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (supplies[line] <> w)::INT
            WHERE s_w_id = supplies[line] AND s_i_id = items[line]
            RETURNING CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                ELSE s_dist_10 END INTO STRICT info;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            VALUES (w, d, entered, line, items[line], supplies[line], NULL, quantities[line],
                amount, info);
        total := total + amount;
    END LOOP;
    total := total * (10000 - discount) / 10000 * (10000 + w_rate + d_rate) / 10000;
END $$;

-- Returns the middle customer with a last name; the position is rounded up.
CREATE OR REPLACE FUNCTION find_customer(w INT, d INT, named TEXT) RETURNS INT
LANGUAGE plpgsql AS $$
DECLARE
    bearers INT[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first, c_id) INTO bearers FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_last = named;
    IF bearers IS NULL THEN
        RAISE NO_DATA_FOUND USING MESSAGE = format('no customer in %s/%s is called %s', w, d, named);
    END IF;
    RETURN bearers[(cardinality(bearers) + 1) / 2];
END $$;

CREATE OR REPLACE PROCEDURE do_payment(
    w INT, d INT, cw INT, cd INT, named TEXT, paid BIGINT, at_ms BIGINT,
    INOUT c INT, INOUT balance BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
    credit TEXT; w_named TEXT; d_named TEXT;
BEGIN
    IF named IS NOT NULL THEN
        c := find_customer(cw, cd, named);
    END IF;
    UPDATE customer SET c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
        c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = cw AND c_d_id = cd AND c_id = c
        RETURNING c_credit, c_balance INTO STRICT credit, balance;
    IF credit = 'BC' THEN
        UPDATE customer
            SET c_data = left(format('%s %s %s %s %s %s |%s', c, cd, cw, d, w, paid, c_data), 500)
            WHERE c_w_id = cw AND c_d_id = cd AND c_id = c;
    END IF;
    UPDATE district SET d_ytd = d_ytd + paid WHERE d_w_id = w AND d_id = d
        RETURNING d_name INTO STRICT d_named;
    UPDATE warehouse SET w_ytd = w_ytd + paid WHERE w_id = w RETURNING w_name INTO STRICT w_named;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (c, cd, cw, d, w, at_ms, paid, w_named || '    ' || d_named);
END $$;

CREATE OR REPLACE PROCEDURE do_order_status(w INT, d INT, named TEXT, INOUT c INT, INOUT lines INT)
LANGUAGE plpgsql AS $$
DECLARE
    last_order INT; known RECORD; line RECORD;
BEGIN
    IF named IS NOT NULL THEN
        c := find_customer(w, d, named);
    END IF;
    SELECT c_balance, c_first, c_middle, c_last INTO STRICT known FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id, o_entry_d, o_carrier_id INTO STRICT known FROM orders
        WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
    last_order := known.o_id;
    lines := 0;
    FOR line IN SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
        FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = last_order
    LOOP
        lines := lines + 1;
    END LOOP;
END $$;

CREATE OR REPLACE PROCEDURE do_delivery(
    w INT, carrier INT, at_ms BIGINT, INOUT delivered INT, INOUT skipped INT
) LANGUAGE plpgsql AS $$
DECLARE
    oldest INT; amount BIGINT;
    bearers INT[] := '{}';
    amounts BIGINT[] := '{}';
    bearer INT;
BEGIN
    delivered := 0;
    skipped := 0;
    FOR d IN 1 .. 10 LOOP
        SELECT no_o_id INTO oldest FROM new_order WHERE no_w_id = w AND no_d_id = d
            ORDER BY no_o_id LIMIT 1;
        IF NOT FOUND THEN
            skipped := skipped + 1;
            bearers[d] := NULL;
            CONTINUE;
        END IF;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = oldest;
        IF NOT FOUND THEN
            RAISE SERIALIZATION_FAILURE USING MESSAGE = 'another delivery took the same order';
        END IF;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = oldest
            RETURNING o_c_id INTO STRICT bearer;
        UPDATE order_line SET ol_delivery_d = at_ms
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = oldest;
        SELECT SUM(ol_amount) INTO STRICT amount FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = oldest;
        bearers[d] := bearer;
        amounts[d] := amount;
        delivered := delivered + 1;
    END LOOP;
    -- Customers are last, because payments also lock their rows.
    FOR d IN 1 .. 10 LOOP
        IF bearers[d] IS NOT NULL THEN
            UPDATE customer SET c_balance = c_balance + amounts[d],
                c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = w AND c_d_id = d AND c_id = bearers[d];
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE PROCEDURE do_stock_level(w INT, d INT, threshold INT, INOUT low BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
    next_order INT;
BEGIN
    SELECT d_next_o_id INTO STRICT next_order FROM district WHERE d_w_id = w AND d_id = d;
    SELECT COUNT(DISTINCT s_i_id) INTO STRICT low FROM order_line JOIN stock ON s_i_id = ol_i_id
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
        AND s_w_id = w AND s_quantity < threshold;
END $$;
